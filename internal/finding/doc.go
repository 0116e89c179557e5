// Package finding decides the life of findings as a pure function. The inputs are the state before a run, the rows of
// the run, the rule's policy and the time. The result is the state after the run, and which findings get a notice. The
// package does no I/O and reads no clock.
//
// State is the record of a finding that the ledger keeps between runs. Scope is the record of a rule in a scope. Policy
// has the settings of the rule for the life of its findings. Step takes all rows of a run together; Run takes them one
// at a time.
// Both return a Result: the changes to record and the notices to make (Tells).
//
// engine/judge decides what a notice says, and whether a silence holds it back.
package finding
