// Package commits follows what a node commits to its ledger: which kinds of work the ledger refuses, why, and whether it takes commits at all.
//
// Ledger stands before a ledger and tells a Watch how each commit of work ended. While a refusal stands, the Watch tries the smallest commit of a run every few
// seconds and takes it back. Two tries in a row that the ledger refuses mean that the node can commit nothing; one that the ledger takes ends that.
//
// A ledger that is out of reach has refused nothing: its ping says so. The package repeats no commit and holds none back.
package commits
