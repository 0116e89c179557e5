// Package judge turns the rows of a probe into findings and notices, given what the ledger knows of the rule.
//
// A Pass is one scan. Begin takes what the ledger knows (Snapshot). Scan runs the probe and streams its rows to a
// judge. The kind of the rule decides which judge (state.go, open.go, event.go). Scan also adds the rule's alerts about
// itself (no_data and on_error). Compose makes notices of the Result, and the record that the ledger commits
// (compose.go, digest.go).
//
// The engine uses this package when a firing runs. Trials and explanations use it as well. So an author sees what a
// rule will do before the rule goes live. The outcome depends only on the rows, the Snapshot and the fields of the
// Pass. Therefore a repeated pass makes the same notices again.
//
// The package claims nothing, writes nothing and delivers nothing. It asks the source through ScopedRule.Prepared, and
// the ledger through Pass.Notices, Pass.Open and Pass.Carriers.
package judge
