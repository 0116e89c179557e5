package push_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/sinks"
	"tallyman/sinks/push"
)

// An attempt has the time at which the call began, how long it took, what the other side answered, and the error.
func TestAttempts(t *testing.T) {
	t.Parallel()
	codes := []int{503, 0, 202}
	answer := func(ctx context.Context, _ []delivery.Delivery) error {
		code := codes[0]
		codes = codes[1:]
		time.Sleep(time.Duration(len(codes)) * time.Second) //nolint:forbidigo // in a synctest bubble
		if code > 0 {
			sinks.NoteStatus(ctx, code)
		}
		if code == 202 {
			return nil
		}
		return errDown
	}
	inBubble(t, patient, answer, func(w *world) {
		w.commit("", important)
		wait(time.Hour)
		r, times := w.row(1), w.times(1, w.start)
		want := []delivery.Attempt{
			{Took: 2 * time.Second, Status: 503, Error: errDown.Error()}, {Took: time.Second, Error: errDown.Error()}, {Status: 202},
		}
		for i := range want {
			want[i].At = w.start.Add(times[i])
		}
		same := func(a, b delivery.Attempt) bool {
			return a.At.Equal(b.At) && a.Took == b.Took && a.Status == b.Status && a.Error == b.Error
		}
		if !slices.EqualFunc(want, r.tried, same) {
			w.Errorf("kept %+v, want %+v", r.tried, want)
		}
	})
}

// A call that is cut off because the node stops is recorded as such, and does not count. A call that was not begun is
// no attempt.
func TestAttemptIsCutOff(t *testing.T) {
	t.Parallel()
	inBubble(t, func(o *push.Options) { o.Timeout, o.Concurrency = time.Minute, 1 }, hang, func(w *world) {
		w.commit("", important)
		wait(time.Second)
		w.commit("", important)
		wait(time.Second)
		w.stop()
		w.stop = func() {}
		first, second := w.row(1), w.row(2)
		if len(first.tried) != 1 || !strings.Contains(first.tried[0].Error, "cut the call off") || first.attempts != 0 {
			w.Errorf("of the first %d attempts count, and %+v is kept", first.attempts, first.tried)
		}
		if len(second.tried) != 0 {
			w.Errorf("the second was not begun, and %+v is kept", second.tried)
		}
	})
}
