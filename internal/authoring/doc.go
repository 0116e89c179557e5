// Package authoring is what an author of rules asks for before a rule goes live: make a new one, check files, try one on its source, compare two
// versions, run rule tests, try another text of a rule that runs.
//
// Commands are the requests of the command line, from a configuration and beside a node or without one. A Node does the requests of the API, on the
// node's own parts. Both let package trial do the run, so that what they show is what the engine will do.
//
// Nothing here writes to a ledger or a source, or delivers. The package knows no implementation: internal/app passes the functions that
// open sources and ledgers.
package authoring
