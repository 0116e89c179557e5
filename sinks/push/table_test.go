package push_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
)

// The table of strategies in docs/reference/rule-file.md: when each strategy tries, what a failure does to it, and how it
// ends.
func TestStrategies(t *testing.T) {
	t.Parallel()
	down := func(n int) []error {
		list := make([]error, n)
		for i := range list {
			list[i] = errDown
		}
		return list
	}
	for name, c := range map[string]struct {
		strategy delivery.Strategy
		answers  []error
		tries    int
		state    int
		first    time.Duration
		error    string
	}{
		"immediate, taken":                           {immediate, nil, 1, sent, 0, ""},
		"immediate, down":                            {immediate, down(9), 1, failed, 0, errDown.Error()},
		"immediate, refused":                         {immediate, []error{refuse(1)}, 1, failed, 0, "no such bin"},
		"delayed, taken":                             {delayed(time.Minute, 0), nil, 1, sent, time.Minute, ""},
		"delayed, down":                              {delayed(time.Minute, 0), down(9), 1, failed, time.Minute, errDown.Error()},
		"delayed with retries, down for a while":     {delayed(time.Minute, 2), down(2), 3, sent, time.Minute, ""},
		"delayed with retries, down":                 {delayed(time.Minute, 2), down(9), 3, failed, time.Minute, errDown.Error()},
		"delayed with retries, refused":              {delayed(time.Minute, 2), []error{errDown, refuse(1)}, 2, failed, time.Minute, "no such bin"},
		"important, taken":                           {important, nil, 1, sent, 0, ""},
		"important, down for long":                   {important, down(12), 13, sent, 0, ""},
		"important, refused":                         {important, []error{errDown, refuse(1)}, 2, failed, 0, "no such bin"},
		"timed, taken":                               {timed(time.Minute), nil, 1, sent, 0, ""},
		"timed, down for a while":                    {timed(time.Hour), down(3), 4, sent, 0, ""},
		"timed, down":                                {timed(time.Minute), down(1000), -1, timedOut, 0, errDown.Error()},
		"timed, refused":                             {timed(time.Minute), []error{refuse(1)}, 1, failed, 0, "no such bin"},
		"refused for what is not in the call":        {immediate, []error{refuse(77)}, 1, failed, 0, "no such bin"},
		"refused for what is not there, tried again": {important, []error{refuse(77)}, 2, sent, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, patient, script(map[int64][]error{1: c.answers}), func(w *world) {
				w.commit("", c.strategy)
				wait(time.Hour)
				r, tries := w.row(1), w.times(1, w.start)
				if r.state != c.state || r.failure != c.error {
					w.Errorf("it ended as %d with %q, want %d with %q", r.state, r.failure, c.state, c.error)
				}
				if c.tries >= 0 && len(tries) != c.tries || len(tries) == 0 || r.attempts != len(tries) {
					w.Fatalf("tried %d times (%d recorded), want %d", len(tries), r.attempts, c.tries)
				}
				if late := tries[0] - c.first; late < 0 || late > time.Second {
					w.Errorf("first tried after %s, want %s", tries[0], c.first)
				}
				for i := 1; i < len(tries); i++ {
					if gap := tries[i] - tries[i-1]; gap < 100*time.Millisecond || gap > 5*time.Minute+time.Second {
						w.Errorf("attempt %d came %s after the one before", i+1, gap)
					}
				}
				if last := tries[len(tries)-1]; c.state == timedOut && last > time.Minute {
					w.Errorf("tried %s after its notice was made", last)
				}
			})
		})
	}
}

// The expiry of the notice ends an important delivery; until: sent goes on, and hands over the whole notice.
func TestUntilSent(t *testing.T) {
	t.Parallel()
	inBubble(t, patient, nil, func(w *world) {
		back := w.start.Add(10 * time.Hour)
		var taken []*notice.Notice
		w.answer = func(_ context.Context, batch []delivery.Delivery) error {
			if time.Now().Before(back) {
				return errDown
			}
			taken = append(taken, batch[0].Notice)
			return nil
		}
		expiring, lasting := w.add("", important, time.Hour), w.add("", untilSent, time.Hour)
		wait(9 * time.Hour)
		if a, b := w.row(expiring), w.row(lasting); a.state != canceled || b.state != pending || b.attempts < 9*60/6 {
			w.Fatalf("after nine hours the one is %d, the other %d after %d attempts", a.state, b.state, b.attempts)
		}
		wait(2 * time.Hour)
		if r := w.row(lasting); r.state != sent || len(taken) != 1 || taken[0] != r.Notice {
			w.Errorf("it is %d, and %v was taken", r.state, taken)
		}
	})
}

// A delayed delivery leaves within a second of its time, however long the delay is, even if the ledger's clock jumps.
func TestDelayedLeavesInTime(t *testing.T) {
	t.Parallel()
	for name, jump := range map[string]time.Duration{"steady": 0, "forwards": 20 * time.Minute, "backwards": -20 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, nil, nil, func(w *world) {
				due := map[int64]time.Duration{}
				for _, d := range []time.Duration{0, time.Millisecond, 499 * time.Millisecond, 10 * time.Minute, time.Hour} {
					due[w.commit("", delayed(d, 0))] = fromStart(d, jump)
				}
				at := w.add("", delivery.Strategy{Kind: delivery.Delayed, At: w.start.Add(45 * time.Minute)}, 72*time.Hour)
				due[at] = fromStart(45*time.Minute, jump)
				wait(time.Second)
				w.jump(jump)
				wait(90 * time.Minute)
				for seq, want := range due {
					got := w.times(seq, w.start)
					if len(got) != 1 {
						w.Fatalf("%d was tried at %v", seq, got)
					}
					if late := got[0] - want; late < 0 || late > time.Second {
						w.Errorf("%d left after %s, want %s", seq, got[0], want)
					}
				}
			})
		})
	}
}

// fromStart is when something is due after so long by a clock that jumps after a second.
func fromStart(d, jump time.Duration) time.Duration {
	if d < time.Second {
		return d
	}
	return max(d-jump, time.Second)
}

// The deliveries of one finding are sent in order, whatever their strategies. Deliveries of other findings do not wait
// for them.
func TestOrderOfAFinding(t *testing.T) {
	t.Parallel()
	inBubble(t, patient, script(map[int64][]error{1: {errDown, errDown, errDown}}), func(w *world) {
		for range 3 {
			w.commit("bin A-01", important)
		}
		other := w.commit("bin A-02", immediate)
		wait(time.Hour)
		if got := w.times(other, w.start); len(got) != 1 || got[0] > time.Second {
			w.Errorf("another finding's was tried at %v", got)
		}
		var order []int64
		for _, c := range w.heard() {
			if c.seqs[0] != other {
				order = append(order, c.seqs[0])
			}
		}
		if want := []int64{1, 1, 1, 1, 2, 3}; !slices.Equal(order, want) {
			w.Errorf("tried in the order %v, want %v", order, want)
		}
	})
}
