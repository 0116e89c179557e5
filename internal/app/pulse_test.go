package app

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestPulse: a loop is stuck once it has not turned for longestTurn, and no longer after its next turn.
func TestPulse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pulse
		p.turned("timetable")
		time.Sleep(longestTurn) //nolint:forbidigo // in a bubble
		p.turned("session")
		if got := p.stuck(); len(got) > 0 {
			t.Errorf("%q are stuck, and none is", got)
		}
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble
		if got := p.stuck(); !slices.Equal(got, []string{"timetable"}) {
			t.Errorf("%q are stuck, want the timetable", got)
		}
		p.turned("timetable")
		if got := p.stuck(); len(got) > 0 {
			t.Errorf("%q are stuck, and none is", got)
		}
		p.turned("engine timetable")
		time.Sleep(2 * longestTurn) //nolint:forbidigo // in a bubble
		p.turned("session")
		p.turned("timetable")
		p.end("engine")
		if got := p.stuck(); len(got) > 0 {
			t.Errorf("%q are stuck after the engine ended, and none is", got)
		}
	})
}
