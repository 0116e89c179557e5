//go:build race

package inbox

// Under the race detector things may take longer, and there are fewer of them.
const (
	raceFactor = 4
	rebuilt    = 20_000
	perWriter  = 60
)
