// Package rewind says what a move of a rule's watermark would cause: where the watermark is and would be, and how many
// notices the next firing would send. It runs the rule as a firing does (trial.Trial), and writes nothing.
package rewind
