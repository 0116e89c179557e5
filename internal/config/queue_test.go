package config

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/rules/strictyaml"
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
		dedupe   queue.Window
		steps    []time.Duration
	}{
		"plain":  {"UTC", time.Minute, 5, queue.Window{}, steps()},
		"full":   {"Asia/Shanghai", 90 * time.Second, 3, queue.Window{Day: true}, steps(2*h, 12*h, 24*h)},
		"window": {"UTC", time.Minute, 5, queue.Window{For: 4 * h}, steps()},
		"steps":  {"UTC", time.Minute, 5, queue.Window{}, steps(h, 2*h)},
		"added":  {"UTC", 5 * time.Second, 5, queue.Window{}, steps(2*h, 12*h)},
	} {
		q, ok := c.Sinks[name].(*queue.Settings)
		if !ok || q.TypeName() != queue.TypeName {
			t.Errorf("%s: %+v", name, c.Sinks[name])
			continue
		}
		if q.Timezone.String() != want.zone || q.Lease != want.lease || q.MaxAttempts != want.attempts || q.Dedupe != want.dedupe {
			t.Errorf("%s: %+v", name, q)
		}
		if q.SuspendSteps == nil || !slices.Equal(q.SuspendSteps, want.steps) {
			t.Errorf("%s: steps %v", name, q.SuspendSteps)
		}
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
	got, _ := c.Sinks["replenishment"].(*queue.Settings)
	want := queue.NewSettings()
	want.Timezone, want.Dedupe = got.Timezone, queue.Window{Day: true}
	if got.Timezone.String() != "Asia/Shanghai" || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	for _, name := range strictyaml.FieldNames(got) {
		if !strings.Contains(shown, "  "+name+": ") {
			t.Errorf("%s is not explained", name)
		}
	}
}
