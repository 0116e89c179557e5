//go:build !race

package testenv

// What the race detector asks of tests; see race_on.go.
const (
	Race       = false
	RaceFactor = 1
	RaceCut    = 1
)
