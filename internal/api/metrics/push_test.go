package metrics_test

import (
	"slices"
	"strings"
	"testing"

	"tallyman/internal/api/metrics"
)

func TestPushChannels(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	err := m.Register(metrics.NewPushes(map[string]func() metrics.Push{
		"gateway": func() metrics.Push { return metrics.Push{Breaker: "open", HeldBack: true} },
		"sms":     func() metrics.Push { return metrics.Push{Breaker: "closed", InFlight: 3} },
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`tallyman_sink_breaker_state{sink="gateway",state="closed"} 0`,
		`tallyman_sink_breaker_state{sink="gateway",state="half_open"} 0`,
		`tallyman_sink_breaker_state{sink="gateway",state="open"} 1`,
		`tallyman_sink_breaker_state{sink="sms",state="closed"} 1`,
		`tallyman_sink_breaker_state{sink="sms",state="half_open"} 0`,
		`tallyman_sink_breaker_state{sink="sms",state="open"} 0`,
		`tallyman_sink_held_back{sink="gateway"} 1`,
		`tallyman_sink_held_back{sink="sms"} 0`,
		`tallyman_sink_in_flight{sink="gateway"} 0`,
		`tallyman_sink_in_flight{sink="sms"} 3`,
	}
	got := slices.DeleteFunc(scrape(m), func(line string) bool { return !strings.HasPrefix(line, "tallyman_sink_") })
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
