package push_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/sinks/push"
)

func batches(most int, waits time.Duration) func(*push.Options) {
	return func(o *push.Options) { o.Batch = push.Batch{Max: most, Wait: waits} }
}

// A batch goes when it is full, or when its first has waited long enough.
func TestBatches(t *testing.T) {
	t.Parallel()
	options := batches(10, 2*time.Second)
	inBubble(t, options, nil, func(w *world) {
		for range 25 {
			w.commit("", important)
		}
		wait(time.Second)
		if got := sizes(w); !slices.Equal(got, []int{10, 10}) {
			w.Fatalf("after a second the batches are %v", got)
		}
		for range 3 {
			w.commit("", important)
		}
		wait(1100 * time.Millisecond)
		if got := sizes(w); !slices.Equal(got, []int{10, 10, 8}) {
			w.Fatalf("after two seconds the batches are %v", got)
		}
		if got := w.states(); got[sent] != 28 {
			w.Fatalf("%v", got)
		}
	})
}

// A delivery with little time left waits for others for at most half of that time.
func TestBatchDoesNotWaitPastADeadline(t *testing.T) {
	t.Parallel()
	options := batches(10, time.Minute)
	inBubble(t, options, nil, func(w *world) {
		w.commit("", important)
		w.commit("", timed(10*time.Second))
		wait(6 * time.Second)
		if got := sizes(w); !slices.Equal(got, []int{2}) {
			w.Fatalf("the batches are %v", got)
		}
	})
}

// Of a refused batch those end that the channel names; the others go on, and were not tried.
func TestPartOfABatchIsRefused(t *testing.T) {
	t.Parallel()
	answer := func(_ context.Context, batch []delivery.Delivery) error {
		if slices.ContainsFunc(batch, func(d delivery.Delivery) bool { return d.Seq == 3 }) {
			return refuse(3)
		}
		return nil
	}
	options := batches(5, time.Second)
	inBubble(t, options, answer, func(w *world) {
		for range 5 {
			w.commit("", immediate)
		}
		wait(3 * time.Second)
		if got := w.states(); got[failed] != 1 || got[sent] != 4 || w.row(3).state != failed {
			w.Fatalf("%v", got)
		}
		if r := w.row(1); r.attempts != 1 || len(w.heard()) != 2 {
			w.Fatalf("%d attempts in %d calls", r.attempts, len(w.heard()))
		}
	})
}

// A batch that is refused as a whole is tried one by one: one of them may be at fault for all.
func TestWholeBatchIsRefused(t *testing.T) {
	t.Parallel()
	answer := func(_ context.Context, batch []delivery.Delivery) error {
		var all []int64
		for _, d := range batch {
			all = append(all, d.Seq)
		}
		if len(batch) > 1 || batch[0].Seq == 2 {
			return refuse(all...)
		}
		return nil
	}
	options := batches(5, time.Second)
	inBubble(t, options, answer, func(w *world) {
		for range 5 {
			w.commit("", immediate)
		}
		wait(5 * time.Second)
		if got := w.states(); got[failed] != 1 || got[sent] != 4 || w.row(2).state != failed {
			w.Fatalf("%v", got)
		}
		if got := sizes(w); !slices.Equal(got, []int{5, 1, 1, 1, 1, 1}) {
			w.Fatalf("the batches are %v", got)
		}
	})
}

// A batch that failed for a while counts an attempt of each.
func TestBatchFails(t *testing.T) {
	t.Parallel()
	options := batches(3, time.Second)
	inBubble(t, options, script(map[int64][]error{1: {errDown}}), func(w *world) {
		w.commit("", immediate)
		w.commit("", important)
		w.commit("", delayed(0, 1))
		wait(time.Minute)
		if a, b, c := w.row(1), w.row(2), w.row(3); a.state != failed || b.state != sent || b.attempts != 2 || c.state != sent || c.attempts != 2 {
			w.Fatalf("%+v, %+v, %+v", a, b, c)
		}
	})
}

func sizes(w *world) []int {
	var list []int
	for _, c := range w.heard() {
		list = append(list, len(c.seqs))
	}
	return list
}
