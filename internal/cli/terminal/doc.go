// Package terminal lays out text for people who read it at a terminal: tables that fit the width (Grid, Spread), words that are broken
// at spaces (Wrap), a page of both (Page), and questions with their answers (Prompt).
//
// No line is wider than it was told, a character of two cells counts as two, and what no text may have is made visible. Columns that
// have no room are left out, and whoever reads is told how many.
//
// The package knows no command and no form of the API, and decides nothing about exit codes.
package terminal
