// Package finding is the life of a finding as a pure function: (state before, rows of a run, rule, time)
// → (state after, what to say). No I/O, no clock.
//
// State is what is kept of a finding between runs, Scope what is kept of a rule in a scope, Policy what the rule says about the life of its findings. Step
// takes the rows of a run together; Run takes them one at a time. Both return a Result: the changes to be recorded and what is to be told.
//
// What a notice says, and whether a silence holds it back, is decided in engine/judge.
package finding
