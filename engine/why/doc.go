// Package why explains one finding, or a key of which there is none: how the row is on the source now, what the ledger
// knows, why nothing is told, and what comes next.
//
// An Explainer belongs to a node's engine. It asks the source within the same bounds as a run (engine.Room), and takes
// the condition apart with the program that judges live (judge.ScopedRule). It reads and never writes, and it claims no
// firing.
//
// The Answer has codes that are stable, and texts for people. The API and the command line only show it.
package why
