//go:build race

package testenv

// Under the race detector tests may take longer, and run fewer cases.
const (
	Race       = true
	RaceFactor = 4 // Times take this many times longer.
	RaceCut    = 5 // One test case in this many runs.
)
