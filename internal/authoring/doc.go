// Package authoring serves authors of rules before a rule goes live. It makes a new rule, checks files, tries a rule on
// its source, compares two versions, runs rule tests, and tries another text of a running rule.
//
// Commands serves the command line. It works from a configuration, with or without a running node. Node serves the API,
// and uses the parts of its running node. Both leave the run to package trial, so their results show what the engine
// will do.
//
// Nothing here writes to a source or delivers. Only Node.Rewind writes to a ledger. The package knows no
// implementation: internal/app passes the functions that open sources and ledgers.
package authoring
