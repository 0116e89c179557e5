// Package why explains one finding, or a key without a finding. The Answer says how the row is on the source now, what
// the ledger knows, why no notice is sent, and what happens next.
//
// An Explainer belongs to a node's engine. It asks the source within the same bounds as a run (engine.Room). It
// evaluates the parts of the condition with the program that judges live (judge.ScopedRule). It only reads, and it
// claims no firing.
//
// The Answer has stable codes, and texts for people. The API and the command line only show these codes and texts.
package why
