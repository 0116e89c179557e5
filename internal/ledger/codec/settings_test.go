package codec

import (
	"slices"
	"testing"
	"time"

	"tallyman/internal/item"
)

// A valid row is encoded as it was decoded; an invalid row is an error.
func FuzzQueueSettings(f *testing.F) {
	f.Add(int64(0), int64(-1), "")
	f.Add(int64(90_000_000), int64(0), "[7200000000,43200000000]")
	f.Add(int64(1), int64(5), "[]")
	f.Add(int64(1), int64(5), `["2h"]`)
	f.Fuzz(func(t *testing.T, lease, attempts int64, steps string) {
		if lease < 0 || lease > 1e15 {
			return // not a valid duration
		}
		row := QueueSettings{Lease: lease, MaxAttempts: attempts, SuspendSteps: steps, By: "user:ann", At: 1}
		first, err := row.Settings()
		overflows := func(d time.Duration) bool { return d%time.Microsecond != 0 }
		if err != nil || slices.ContainsFunc(first.SuspendSteps, overflows) {
			return
		}
		args, err := QueueSettingsArgs(&first)
		if err != nil {
			t.Fatal(err)
		}
		again := QueueSettings{Lease: args[0].(int64), MaxAttempts: args[1].(int64), SuspendSteps: args[2].(string), By: args[3].(string), At: args[4].(int64)} //nolint:forcetypeassert // as they are made
		second, err := again.Settings()
		if err != nil || !first.Equal(&second) || second.By != "user:ann" || !second.At.Equal(first.At) {
			t.Errorf("%+v became %+v, %v", first, second, err)
		}
	})
}

func TestQueueSettingsThatAreBroken(t *testing.T) {
	t.Parallel()
	for _, steps := range []string{"2h", `["2h"]`, "{}", "[1", "[1.5]"} {
		row := NewQueueSettings()
		row.SuspendSteps = steps
		if got, err := row.Settings(); err == nil {
			t.Errorf("%s: %+v", steps, got)
		}
	}
	empty := NewQueueSettings()
	if got, err := empty.Settings(); err != nil || !got.Equal(&item.LiveSettings{}) {
		t.Errorf("%+v, %v", got, err)
	}
}
