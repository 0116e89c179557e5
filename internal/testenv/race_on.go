//go:build race

package testenv

// Under the race detector things may take longer, and there are fewer of them.
const (
	Race       = true
	RaceFactor = 4 // so many times as long
	RaceCut    = 5 // one in so many
)
