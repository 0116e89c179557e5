// Package cli is Tallyman's command line. A command reads its arguments, calls one of the Services or the HTTP API, and
// prints the answer as a table, JSON or YAML. Nothing here decides anything about rules or notices.
//
// A file is a command, or a few that belong together, with the text that people read: rules_diff.go has "tallyman rules diff". Run is the
// program; command is one run of it, with its flags; client speaks to a server, in the forms of internal/wire; Services is what commands
// call that need no server. Package terminal lays the text out.
//
// Exit codes: 0 fine, 1 it found problems, 2 wrong usage, 3 could not reach something.
package cli
