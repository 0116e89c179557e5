// Package judge decides what a run tells. The decision is made of the rows of a probe and of what the ledger knows of
// the rule.
//
// A Pass is one scan. Begin takes what the ledger knows (Snapshot). Scan runs the probe and hands its rows to a judge
// while they stream by, one for each mode of a rule (state.go, event.go), and adds what the rule tells of itself.
// Compose makes notices of the Result, and the record that the ledger commits (compose.go, digest.go).
//
// The engine judges by this package when a firing runs, and so do trials and explanations: what an author sees before a
// rule goes live is what the rule will do. The decision depends on the rows, the Snapshot and the Pass's own fields
// alone, so that a repeated pass makes the same notices again.
//
// The package claims nothing, writes nothing and delivers nothing. It asks the source by ScopedRule.Prepared, and the
// ledger by Pass.Notices.
package judge
