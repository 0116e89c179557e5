// Package cli is Tallyman's command line. A command reads its arguments, calls one of the Services or the HTTP API, and
// prints the answer as a table, JSON or YAML. Nothing here decides anything about rules or notices.
//
// Exit codes: 0 fine, 1 it found problems, 2 wrong usage, 3 could not reach something.
package cli
