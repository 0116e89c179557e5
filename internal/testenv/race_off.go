//go:build !race

package testenv

// Without the race detector; see race_on.go.
const (
	Race       = false
	RaceFactor = 1
	RaceCut    = 1
)
