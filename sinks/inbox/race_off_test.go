//go:build !race

package inbox

const (
	raceFactor = 1
	rebuilt    = 100_000
	perWriter  = 120
)
