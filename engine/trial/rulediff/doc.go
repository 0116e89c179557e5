// Package rulediff compares two versions of rule files. It says which rules come and go, which fields of a rule differ,
// and what the change would do to the findings.
//
// Both versions of a rule run (trial.Trial) over one snapshot of the database and from the same state. So a difference
// comes from the rule and not from the time. Diff has a Rule for each rule that differs, with the Effect on its
// findings. The package writes nothing and delivers nothing.
package rulediff
