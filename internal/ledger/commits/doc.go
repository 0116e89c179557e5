// Package commits watches whether the ledger takes a node's commits: which kinds of work the ledger refuses, why, and
// whether it takes any commit at all.
//
// Ledger wraps a ledger and reports to a Watch how each commit of work ended. While a refusal stands, the Watch makes a
// try every few seconds. A try is the smallest commit that a run can make. The same transaction removes the rows again.
// After two refused tries in a row the node counts as blocked: it can commit nothing. One successful try ends the
// block.
//
// A ledger that is out of reach has refused nothing; its ping reports that. But a call that exceeded its deadline
// counts as refused. The package repeats no commit and holds none back.
package commits
