// Package preview shows what a rule would do if it ran now: what the probe returns, which rows meet the condition and
// why the others do not, what becomes of each finding, and who would be told what. It runs the rule as a firing does
// (trial.Trial), and writes nothing.
//
//	preview.go  the run
//	rows.go     what becomes of each row
//	fate.go     before and after a run, in one word
//	notices.go  the notices, and who gets them
//	record.go   the run as a rule test, which testfile.go writes; mask.go hides what must not stand in it
package preview
