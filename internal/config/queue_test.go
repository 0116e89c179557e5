package config

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/sinks/queue"
)

func TestQueueSinks(t *testing.T) {
	t.Parallel()
	c := load(t, `
sinks:
  plain: {type: queue}
  full: {type: queue, timezone: Asia/Shanghai, lease: 90s, max_attempts: 3, dedupe: day, suspend_steps: [2h, 12h, 1d]}
  window: {type: queue, dedupe: 4h, suspend_steps: []}
  steps: {type: queue, dedupe: day}
`, "TALLYMAN_SINKS__STEPS__SUSPEND_STEPS=1h, 2h", "TALLYMAN_SINKS__STEPS__DEDUPE=until_done", "TALLYMAN_SINKS__ADDED__TYPE=queue", "TALLYMAN_SINKS__ADDED__LEASE=5s",
		"TALLYMAN_SINKS__PLAIN__SUSPEND_STEPS=")
	steps := func(list ...time.Duration) []time.Duration { return list }
	h := time.Hour
	for name, want := range map[string]struct {
		zone     string
		lease    time.Duration
		attempts int
		dedupe   Dedupe
		steps    []time.Duration
	}{
		"plain":  {"UTC", time.Minute, 5, Dedupe{}, steps()},
		"full":   {"Asia/Shanghai", 90 * time.Second, 3, Dedupe{Day: true}, steps(2*h, 12*h, 24*h)},
		"window": {"UTC", time.Minute, 5, Dedupe{For: 4 * h}, steps()},
		"steps":  {"UTC", time.Minute, 5, Dedupe{}, steps(h, 2*h)},
		"added":  {"UTC", 5 * time.Second, 5, Dedupe{}, steps(2*h, 12*h)},
	} {
		s := c.Sinks[name]
		if s.Type != SinkQueue || s.Queue == nil {
			t.Errorf("%s: %+v", name, s)
			continue
		}
		q := *s.Queue
		if q.Timezone.String() != want.zone || q.Lease != want.lease || q.MaxAttempts != want.attempts || q.Dedupe != want.dedupe {
			t.Errorf("%s: %+v", name, q)
		}
		if q.SuspendSteps == nil || !slices.Equal(q.SuspendSteps, want.steps) {
			t.Errorf("%s: steps %v", name, q.SuspendSteps)
		}
	}
}

// A window is written as it may be read, days as hours.
func TestDedupeText(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]Dedupe{"until_done": {}, "day": {Day: true}, "4h": {For: 4 * time.Hour}, "24h": {For: 24 * time.Hour}} {
		if got := d.String(); got != want {
			t.Errorf("%+v is written %q, not %q", d, got, want)
		}
	}
}

// TestQueueDefaults holds what the configuration says where nothing is said against what the queue itself does.
func TestQueueDefaults(t *testing.T) {
	t.Parallel()
	q := defaultQueue()
	if q.Lease != queue.DefaultLease || q.MaxAttempts != queue.DefaultMaxAttempts || !slices.Equal(q.SuspendSteps, queue.DefaultSuspendSteps()) {
		t.Errorf("they differ: %+v", q)
	}
	if day != queue.MaxLease || longestHold != queue.MaxDelay {
		t.Error("the limits differ")
	}
}

// TestShippedQueue loads the queue that the shipped configuration shows in comments.
func TestShippedQueue(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../configs/tallyman.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(b), "  # replenishment:\n")
	shown, _, found := strings.Cut(shown, "\n\n")
	if !found {
		t.Fatal("it shows no queue")
	}
	shown = strings.ReplaceAll("\n"+shown, "\n  # ", "\n  ")
	c := load(t, "sinks:\n  replenishment:"+shown)
	want := &QueueSink{Timezone: c.Sinks["replenishment"].Queue.Timezone, Dedupe: Dedupe{Day: true}}
	want.Lease, want.MaxAttempts, want.SuspendSteps = defaultQueue().Lease, defaultQueue().MaxAttempts, defaultQueue().SuspendSteps
	if got := c.Sinks["replenishment"].Queue; got.Timezone.String() != "Asia/Shanghai" || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	for name := range defaultQueue().fields() {
		if !strings.Contains(shown, "  "+name+": ") {
			t.Errorf("%s is not explained", name)
		}
	}
}
