// Package rewind says what a move of a rule's watermark would cause. It returns the positions of the watermark before
// and after the move, and how many notices the next firing would send. It runs the rule as a firing does (trial.Trial),
// and writes nothing.
package rewind
