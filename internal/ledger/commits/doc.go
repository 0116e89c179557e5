// Package commits watches whether the ledger takes a node's commits: which kinds of work the ledger refuses, why, and
// whether it takes any commit at all.
//
// Ledger wraps a ledger and reports to a Watch how each commit of work ended. While a refusal stands, the Watch tries
// the smallest commit of a run every few seconds and rolls it back. After two refused tries in a row the node counts
// as blocked: it can commit nothing. One successful try ends that.
//
// A ledger that is out of reach has refused nothing; its ping reports that. The package repeats no commit and holds
// none back.
package commits
