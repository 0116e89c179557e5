//go:build race

package testenv

// Under the race detector tests may take longer, and run fewer cases.
const (
	Race       = true
	RaceFactor = 4 // Limits of time are multiplied by this factor.
	RaceCut    = 5 // Numbers of test cases are divided by this number.
)
