package queue

import (
	"testing"
	"time"

	"tallyman/internal/item"
)

// Each move is counted once, whichever node made it, and for five minutes.
func TestRecentIsWhatMovedOfLate(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC))
		ledger := newMemoryLedger()
		change := []func(*Options){clock.option, func(o *Options) { o.MaxAttempts = 2 }}
		a := newNode(t, t.addr, ledger, change...)
		b := newNode(t, t.addr, ledger, change...)
		check := func(pushed, done, failed, dead int64) {
			t.Helper()
			sizes, err := a.Sizes(t.Context(), false, nil)
			got := sizes.Recent
			if span := got.Span; err != nil || span < 5*time.Minute || span >= 5*time.Minute+10*time.Second {
				t.Errorf("over %s, %v", span, err)
			}
			got.Span = 0
			if want := (item.Recent{Pushed: pushed, Done: done, Failed: failed, Dead: dead}); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
		check(0, 0, 0, 0)
		a.mustPush(t.T, newItems(4, 3, "i")...)
		if _, err := b.Push(t.Context(), false, "", newItems(5, 3, "i")); err != nil { // of which one is new
			t.Fatal(err)
		}
		check(5, 0, 0, 0)

		leased := b.mustLease(t.T, "w", 3)
		var ops []item.Op
		for i, kind := range []item.OpKind{item.Ack, item.Nack, item.Ack} {
			ops = append(ops, item.Op{Kind: kind, ID: leased[i].ID, Attempt: leased[i].Attempt})
		}
		a.mustStep(t.T, item.Step{Caller: item.Caller{Worker: "w"}, Ops: ops[:1]}) // nothing but acks
		a.mustStep(t.T, item.Step{Caller: item.Caller{Worker: "w"}, Ops: ops[1:]})
		b.mustDo(t.T, item.Op{Kind: item.Finish, ID: "i5"}, item.OK)
		check(5, 3, 1, 0)

		clock.advance(4 * time.Minute)
		for range 2 { // one lease ends for the first time, and one for the second
			b.mustLease(t.T, "w", 2)
			clock.advance(90 * time.Second)
		}
		b.mustLease(t.T, "w", 2)
		check(0, 0, 3, 2)
		clock.advance(5*time.Minute + 10*time.Second)
		check(0, 0, 0, 0)
		a.mustPush(t.T, newItems(1, 3, "j")...) // in the slot of what is long gone
		check(1, 0, 0, 0)
		if twin, err := a.Sizes(t.Context(), true, nil); err != nil || twin.Recent.Pushed != 0 {
			t.Errorf("the twin has %+v, %v", twin.Recent, err)
		}
	})
}
