package inbox

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/testenv"
)

func TestExpiredNoticesGo(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(time.Now())
		n := newNode(t, t.addr, newMemoryLedger(), clock.option)
		short := makeDeliveries(700, wh, "user:1", "role:k")
		for i := range short { // retentions differ, and so do the moments of expiry
			short[i].Notice.ExpiresAt = clock.now().Add(time.Duration(1+i%7) * time.Hour)
		}
		long := makeDeliveries(2, wh, "user:1")
		for i := range long {
			long[i].Notice.ExpiresAt = clock.now().Add(48 * time.Hour)
		}
		n.deliver(t, slices.Concat(short[:350], long, short[350:]))
		before := n.poll(t, query("user:1"))

		clock.advance(7 * time.Hour)
		if diff := cmp.Diff(idsOf(long), ids(n.poll(t, query("user:1")))); diff != "" {
			t.Errorf("at once: -want +got\n%s", diff)
		}
		if err := n.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := idsOf(long)
		slices.Sort(want)
		if diff := cmp.Diff(want, n.bodies(t)); diff != "" {
			t.Errorf("bodies: -want +got\n%s", diff)
		}
		for subscriber, want := range map[string]int64{"user:1": 2, "role:k": 0} {
			if got, err := n.client.ZCard(t.Context(), n.keys.inbox(wh, subscriber)).Result(); err != nil || got != want {
				t.Errorf("%s has %d ids, %v", subscriber, got, err)
			}
		}
		if got, err := n.client.ZCard(t.Context(), n.keys.expiry(wh)).Result(); err != nil || got != 1 {
			t.Errorf("%d blocks wait for their expiry, %v", got, err)
		}
		// Expiry is no loss: a cursor of before goes on, and the version tells that the count changed.
		pg := n.poll(t, after(query("user:1"), before.Cursor))
		if pg.Reset || pg.Unread != 2 || pg.Version == before.Version {
			t.Errorf("%+v", pg)
		}
	})
}

// TestBrokenFirstDeliveryIsSwept breaks off the first delivery of a warehouse after each of its calls. The data that it
// left in Redis is removed when the notice expires, although no delivery of this node ever succeeded there.
func TestBrokenFirstDeliveryIsSwept(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		for calls := range 4 { // open, two portions, close
			for _, isAnswerLost := range []bool{false, true} {
				clock := newTestClock(time.Now())
				n := newNode(t, t.addr, newMemoryLedger(), clock.option, func(o *Options) { o.Prefix, o.maxInboxes = newPrefix(), 2 })
				var cut breaks
				n.client.AddHook(&cut)
				batch := makeDeliveries(1, wh, "user:1", "user:2", "user:3")
				batch[0].Notice.ExpiresAt = clock.now().Add(time.Hour)
				cut.after(calls, isAnswerLost, n.scripts)
				if _, err := n.Deliver(t.Context(), wh, batch); !errors.Is(err, errBroken) {
					t.Fatalf("%d calls: %v", calls, err)
				}
				cut.stop()
				clock.advance(2 * time.Hour)
				if err := n.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
				if left := n.bodies(t); len(left) > 0 {
					t.Errorf("%d calls, answer lost %v: %v is still there", calls, isAnswerLost, left)
				}
			}
		}
	})
}

func TestRunSweeps(t *testing.T) {
	t.Parallel()
	n := newNode(t, testenv.Redis(t).Addr, newMemoryLedger())
	batch := makeDeliveries(2, wh, "user:1")
	batch[0].Notice.ExpiresAt = time.Now().Add(100 * time.Millisecond)
	n.deliver(t, batch)
	testenv.Eventually(t, func() bool { return len(n.bodies(t)) == 1 }, 60*time.Second)
}
