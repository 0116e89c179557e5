// Package terminal lays out text for a terminal: tables that fit the width (Grid, Spread), words that are wrapped at
// spaces (Wrap), a page of both (Page), and questions with their answers (Prompt).
//
// Grid, Spread and Wrap keep their lines within the given width. A longer line is possible only with a single word that
// is too long, or with a first column that may not be cut. A character of two cells counts as two. Characters that the
// policy of texts refuses are made visible. If a table is too wide, the last columns are left out. Spread then writes a
// line that says how many.
//
// The package does not know the commands, the forms of the API or the exit codes.
package terminal
