// Package cli is Tallyman's command line. A command reads its arguments, calls one of the Services or the HTTP API, and
// prints the answer as a table, JSON or YAML. The package makes no decision about rules or notices.
//
// A file has one command, or a few related commands, with the text for people: rules_diff.go has "tallyman rules diff".
// Run runs the program. The type command is one run of the program, with its flags. The type client calls a server, in
// the forms of internal/wire. Services has the functions of commands that need no server. Package terminal lays out
// the text.
//
// Exit codes: 0 fine, 1 it found problems, 2 wrong usage, 3 could not reach something.
package cli
