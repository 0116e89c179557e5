// Package preview shows what a rule would do if it ran now. A Report has the rows of the probe, and says which rows
// meet the condition and why the other rows do not. It also says what happens to each finding, and who would get which
// notice. The package runs the rule as a firing does (trial.Trial), and writes nothing.
//
//	preview.go  the run
//	rows.go     the judgement of each row
//	fate.go     what the run does to a row or finding, in one word
//	notices.go  the notices, and who gets them
//	record.go   the run as a rule test; testfile.go writes it, and mask.go hides values that must not stand in it
package preview
