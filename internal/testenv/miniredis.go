package testenv

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
)

// Miniredis starts an in-process Redis whose keys expire as the clock moves, as in the embedded mode.
func Miniredis(t testing.TB) *miniredis.Miniredis {
	t.Helper()
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	m.ClockTTL(true)
	return m
}
