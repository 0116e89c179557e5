//go:build !race

package queue

const (
	raceFactor = 1
	rebuilt    = 100_000
)
