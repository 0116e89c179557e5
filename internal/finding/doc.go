// Package finding decides the life of findings as a pure function. From the state before, the rows of a run, the
// rule's policy and the time it computes the state after, and which findings get a notice. It does no I/O and reads
// no clock.
//
// State is what the ledger keeps of a finding between runs, Scope what it keeps of a rule in a scope. Policy is what
// the rule says about the life of its findings. Step takes all rows of a run together; Run takes them one at a time.
// Both return a Result: the changes to record and the notices to make (Tells).
//
// engine/judge decides what a notice says, and whether a silence holds it back.
package finding
