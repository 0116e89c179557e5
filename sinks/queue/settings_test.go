package queue

import (
	"testing"
	"time"
)

// A window is written as it may be read, days as hours.
func TestWindowText(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]Window{
		"until_done": {}, "day": {Day: true}, "4h": {For: 4 * time.Hour}, "24h": {For: 24 * time.Hour},
		"content": {Content: true}, "content day": {Content: true, Day: true}, "content 4h": {Content: true, For: 4 * time.Hour},
	} {
		if got := d.String(); got != want {
			t.Errorf("%+v is written %q, not %q", d, got, want)
		}
		if got, err := parseWindow(want); got != d || err != nil {
			t.Errorf("%q is read as %+v, %v", want, got, err)
		}
	}
	for _, bad := range []string{"content daily", "content  day", "day content", "content 0s", "367d", "0s", "content content", ""} {
		if got, err := parseWindow(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}
