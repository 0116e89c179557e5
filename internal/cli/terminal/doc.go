// Package terminal lays out text for a terminal: tables that fit the width (Grid, Spread), words that are wrapped at
// spaces (Wrap), a page of both (Page), and questions with their answers (Prompt).
//
// No line is wider than the given width. A character of two cells counts as two. Characters that the policy of texts
// refuses are made visible. If a table is too wide, the last columns are left out, and a line says how many.
//
// The package does not know the commands, the forms of the API or the exit codes.
package terminal
