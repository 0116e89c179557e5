package queue

import (
	"testing"
	"time"
)

// A window is written as it may be read, days as hours.
func TestWindowText(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]Window{"until_done": {}, "day": {Day: true}, "4h": {For: 4 * time.Hour}, "24h": {For: 24 * time.Hour}} {
		if got := d.String(); got != want {
			t.Errorf("%+v is written %q, not %q", d, got, want)
		}
	}
}
