// Package rewind says what follows when a rule's watermark is moved: where the watermark is and would be, and how many
// notices the next firing would send. It runs the rule as a firing does (trial.Trial), and writes nothing.
package rewind
