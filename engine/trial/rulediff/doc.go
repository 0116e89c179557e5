// Package rulediff compares two versions of rule files: which rules come and go, which fields of a rule differ, and what the
// change would do to the findings. Both versions of a rule are run (trial.Trial) over one snapshot of the database
// and from the same state; nothing is written.
package rulediff
