package inbox

import (
	"errors"
	"testing"
	"time"

	"tallyman/sinks/inbox/page"
)

// Each reason for a reset, and how many notices the reader will not get any more; -1 means unknown.
func TestAResetSaysWhyAndHowMuchWasMissed(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(time.Now())
		n := newNode(t, t.addr, newMemoryLedger(), clock.option, capOf(50), func(o *Options) { o.maxChanges, o.keepUpto = 2, 3 })
		n.ledger.now = clock.now
		give := func(k int, to ...string) {
			batch := makeDeliveries(k, wh, to...)
			for i := range batch {
				batch[i].Notice.ExpiresAt = clock.now().Add(1000 * time.Hour)
			}
			n.deliver(t, batch)
		}
		expect := func(what string, q page.Query, reason page.ResetReason, missed int) {
			t.Helper()
			pg := n.poll(t, q)
			if !pg.Reset || pg.Reason != reason || pg.Missed != missed {
				t.Errorf("%s: reset %v, %q, %d missed, want %q and %d", what, pg.Reset, pg.Reason, pg.Missed, reason, missed)
			}
			if pg = n.poll(t, after(q, pg.Cursor)); pg.Reset || pg.Reason != "" || pg.Missed != 0 {
				t.Errorf("%s: a second reset %v, %q, %d missed", what, pg.Reset, pg.Reason, pg.Missed)
			}
		}
		mine, both := query("user:1"), query("role:k", "user:1")
		give(1, "user:1", "role:k")
		cursor, ofBoth := n.poll(t, mine).Cursor, n.poll(t, both).Cursor
		if pg := n.poll(t, mine); pg.Reset || pg.Reason != "" || pg.Missed != 0 {
			t.Errorf("a first page: %+v", pg)
		}

		expect("a granted role", after(both, cursor), page.ResetSubscribersChanged, -1)
		typed := mine
		typed.Types = []string{"REP_NOTICE"}
		expect("a filter", after(typed, cursor), page.ResetFilterChanged, -1)
		elsewhere := mine
		elsewhere.Warehouse = "W2"
		n.deliver(t, makeDeliveries(1, "W2", "user:1"))
		expect("another warehouse", after(elsewhere, cursor), page.ResetForeignCursor, -1)
		far := n.poll(t, mine).Clock + int64(time.Hour/time.Microsecond)
		expect("a cursor ahead", madeUpAfter(t, mine, cursor, far), page.ResetCursorAhead, -1)

		// 53 notices come into an inbox of 50: the first, which was seen, goes, and then 3 that were not.
		give(53, "user:1")
		expect("a full inbox", after(mine, cursor), page.ResetTrimmed, 3)
		expect("a full inbox beside another", after(both, ofBoth), page.ResetTrimmed, 3)
		give(49, "role:k") // the other inbox is full, and has lost nothing yet
		ofBoth = lastOf(t, n, both, n.poll(t, both).Cursor)
		give(60, "user:1", "role:k")
		expect("two inboxes with the same notices", after(both, ofBoth), page.ResetTrimmed, 10)
		late := n.poll(t, typed)
		give(60, "user:1")
		expect("a full inbox, with a filter", after(typed, late.Cursor), page.ResetTrimmed, -1)

		// More changes than a page can tell.
		give(30, "user:1")
		cursor = lastOf(t, n, mine, n.poll(t, mine).Cursor)
		n.readAll(t, clock.now(), "user:1", cursor, "user:1")
		expect("much was read", after(mine, cursor), page.ResetTooManyChanges, 0)

		// A reader that was away for longer than the window does not get all notices.
		cursor = lastOf(t, n, mine, n.poll(t, mine).Cursor)
		give(7, "user:1")
		clock.advance(window + time.Hour)
		give(2, "user:1")
		for i := range 5 { // some watermarks are forgotten
			n.mark(t, clock.now(), "user:1", false, "n_"+string(rune('a'+i)))
			n.readAll(t, clock.now(), "user:1", n.poll(t, mine).Cursor, "user:1")
			give(1, "role:k")
			clock.advance(time.Second)
			n.readAll(t, clock.now(), "user:1", n.poll(t, both).Cursor, "role:k")
		}
		expect("after a long time", after(mine, cursor), page.ResetTooOld, 7)

		cursor = n.poll(t, mine).Cursor
		n.forget(t)
		n.keeper.CheckNow()
		expect("a new epoch", after(mine, cursor), page.ResetIndexRebuilt, 0)
	})
}

// If more notices were removed than an inbox remembers, the number is unknown.
func TestWhatIsNotRememberedIsNotCounted(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger(), capOf(5))
		n.deliver(t, makeDeliveries(1, wh, "user:1"))
		cursor := n.poll(t, query("user:1")).Cursor
		for _, k := range []int{500, 500, 4} {
			n.deliver(t, makeDeliveries(k, wh, "user:1"))
		}
		if pg := n.poll(t, after(query("user:1"), cursor)); pg.Reason != page.ResetTrimmed || pg.Missed != 999 {
			t.Errorf("%q, %d missed", pg.Reason, pg.Missed)
		}
		n.deliver(t, makeDeliveries(3, wh, "user:1"))
		if pg := n.poll(t, after(query("user:1"), cursor)); pg.Reason != page.ResetTrimmed || pg.Missed != -1 {
			t.Errorf("%q, %d missed", pg.Reason, pg.Missed)
		}
	})
}

func TestReadAllRefusesACursorOfAnotherWarehouse(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		n.deliver(t, makeDeliveries(1, wh, "user:1"))
		n.deliver(t, makeDeliveries(1, "W2", "user:1"))
		pg := n.poll(t, query("user:1"))
		if _, err := n.UpTo(t.Context(), "W2", pg.Cursor); !errors.Is(err, page.ErrForeignCursor) {
			t.Errorf("a cursor of another warehouse: %v", err)
		}
		typed := query("user:1", "role:k")
		typed.Types = []string{"REP_NOTICE"}
		for _, q := range []page.Query{query("user:1"), typed} {
			if score, err := n.UpTo(t.Context(), wh, n.poll(t, q).Cursor); err != nil || score != pg.Clock {
				t.Errorf("a cursor of this warehouse: %d, %v", score, err)
			}
		}
	})
}

// lastOf follows a cursor to the end.
func lastOf(t site, n *node, q page.Query, cursor string) string {
	t.Helper()
	for {
		pg := n.poll(t, after(q, cursor))
		cursor = pg.Cursor
		if !pg.More {
			return cursor
		}
	}
}

// madeUpAfter is a query with a cursor of the same epoch that lies further ahead.
func madeUpAfter(t site, q page.Query, cursor string, score int64) page.Query {
	t.Helper()
	c, err := page.DecodeCursor(cursor)
	if err != nil {
		t.Fatal(err)
	}
	c.Score, c.Changes = score, score
	q.After = c.Encode()
	return q
}
