package inbox

import (
	"context"
	"slices"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/sinks/inbox/page"
)

func TestCountIsExactTo999(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		both := query("user:1", "role:k")
		expect := func(q page.Query, want int, more bool) {
			t.Helper()
			if pg := n.poll(t, q); pg.Unread != want || pg.UnreadMore != more {
				t.Errorf("%v: %d, more %v; want %d, %v", q.Subscribers, pg.Unread, pg.UnreadMore, want, more)
			}
		}
		n.deliver(t, makeDeliveries(600, wh, "user:1", "role:k"))
		n.deliver(t, makeDeliveries(399, wh, "user:1"))
		expect(query("user:1"), 999, false)
		expect(query("role:k"), 600, false)
		expect(both, 999, false)
		n.deliver(t, makeDeliveries(1, wh, "role:k"))
		expect(query("user:1"), 999, false)
		expect(both, 999, true)
		n.deliver(t, makeDeliveries(500, wh, "user:1", "role:k"))
		expect(query("user:1"), 999, true)
		expect(query("role:k"), 999, true)
	})
}

func TestCountLeavesOutWhatExpired(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(time.Now())
		n := newNode(t, t.addr, newMemoryLedger(), clock.option)
		batch := makeDeliveries(6, wh, "user:1", "role:k")
		for i := range 3 {
			batch[i].Notice.ExpiresAt = clock.now().Add(time.Duration(i+1) * time.Hour)
		}
		n.deliver(t, batch)
		n.stop() // nobody sweeps from here on
		clock.advance(2 * time.Hour)
		reader := newNode(t, t.addr, n.ledger, clock.option)
		for _, q := range []page.Query{query("user:1"), query("user:1", "role:k")} {
			pg := reader.poll(t, q)
			if pg.Unread != 4 || !slices.Equal(ids(pg), idsOf(batch[2:])) {
				t.Errorf("%v: %d unread, %v", q.Subscribers, pg.Unread, ids(pg))
			}
		}
	})
}

// However much has expired since the last sweep, nothing of it is counted or shown.
func TestCountLeavesOutManyThatExpired(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(time.Now())
		n := newNodeThat(t, func(in *Inbox, ctx context.Context) { in.keeper.Run(ctx) }, t.addr, newMemoryLedger(), clock.option)
		old := makeDeliveries(300, wh, "user:1", "role:k")
		for i, d := range old {
			d.Notice.Modal, d.Notice.ExpiresAt = "popup", clock.now().Add(time.Hour+time.Duration(i)*time.Millisecond)
		}
		batch := makeDeliveries(7, wh, "user:1", "role:k")
		batch[0].Notice.Modal = "popup"
		n.deliver(t, slices.Concat(old[:150], batch, old[150:]))
		clock.advance(2 * time.Hour)
		for _, q := range []page.Query{query("user:1"), query("user:1", "role:k")} {
			if pg := n.poll(t, q); pg.Unread != len(batch) || !slices.Equal(ids(pg), idsOf(batch)) {
				t.Errorf("%v: %d unread, %v", q.Subscribers, pg.Unread, ids(pg))
			}
		}
		again := makeDeliveries(300, wh, "user:1")
		for i, d := range again {
			d.Notice.Modal, d.Notice.ExpiresAt = "popup", clock.now().Add(time.Hour+time.Duration(i)*time.Millisecond)
		}
		n.deliver(t, again)
		clock.advance(2 * time.Hour)
		sum, err := n.Summary(t.Context(), query("user:1"))
		if err != nil || sum.Unread != len(batch) || len(sum.Latest) != page.Latest || len(sum.Popups) != 1 {
			t.Errorf("%d unread, %d latest, %d popups, %v", sum.Unread, len(sum.Latest), len(sum.Popups), err)
		}
	})
}

// A count is cached while the clock stands still: a change behind the node's back shows only after the next change of
// its own.
func TestCountIsRememberedWhileNothingMoves(t *testing.T) {
	t.Parallel()
	n := newNode(t, testenv.Redis(t).Addr, newMemoryLedger())
	n.deliver(t, makeDeliveries(3, wh, "user:1"))
	q := query("user:1")
	n.poll(t, q)
	if err := n.client.ZRemRangeByRank(t.Context(), n.keys.inbox(wh, "user:1"), 0, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if pg := n.poll(t, q); pg.Unread != 3 {
		t.Errorf("%d: counted again although nothing moved", pg.Unread)
	}
	n.deliver(t, makeDeliveries(1, wh, "user:2"))
	if pg := n.poll(t, q); pg.Unread != 3 {
		t.Errorf("%d: counted again although only another's inbox moved", pg.Unread)
	}
	n.deliver(t, makeDeliveries(1, wh, "user:1"))
	if pg := n.poll(t, q); pg.Unread != 3 {
		t.Errorf("%d after something moved", pg.Unread)
	}
	n.counts.mu.Lock()
	for i := range maxCounts {
		n.counts.of[string(rune(i))] = inboxCount{}
	}
	n.counts.mu.Unlock()
	n.deliver(t, makeDeliveries(1, wh, "user:1"))
	if pg := n.poll(t, q); pg.Unread != 4 || len(n.counts.of) != 1 {
		t.Errorf("%d unread, %d counts remembered", pg.Unread, len(n.counts.of))
	}
}
