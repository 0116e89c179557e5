package inbox

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/sinks/inbox/page"
)

func TestPagesAscendOverAllInboxes(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		var want []string
		for i := range 12 {
			to := [][]string{{"user:1"}, {"role:a"}, {"role:a", "role:b", "user:1"}}[i%3]
			batch := makeDeliveries(5, wh, to...)
			n.deliver(t, batch)
			want = append(want, idsOf(batch)...)
		}
		q := query("user:1", "role:a", "role:b")
		for _, limit := range []int{1, 7, 59, 60, 61, 0} {
			q.Limit, q.After = limit, ""
			var got []string
			for {
				pg := n.poll(t, q)
				if limit > 0 && len(pg.Notices) != min(limit, len(want)-len(got)) {
					t.Fatalf("limit %d: a page of %d after %d", limit, len(pg.Notices), len(got))
				}
				got = append(got, ids(pg)...)
				q.After = pg.Cursor
				if !pg.More {
					if pg.Clock < pg.Notices[len(pg.Notices)-1].Score {
						t.Errorf("the clock %d is behind the last notice", pg.Clock)
					}
					break
				}
				if pg.Clock != pg.Notices[len(pg.Notices)-1].Score {
					t.Errorf("with more to come the clock is %d", pg.Clock)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("limit %d: -want +got\n%s", limit, diff)
			}
		}
		q.Limit, q.After = 0, ""
		if pg := n.poll(t, q); len(pg.Notices) != page.DefaultLimit || !pg.More {
			t.Errorf("a page is %d by default", len(pg.Notices))
		}
	})
}

func TestTypesFilterThePageAndNotTheCount(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		batch := makeDeliveries(450, wh, "user:1")
		var want []string
		for i := range batch {
			batch[i].Notice.Type = "COMMON"
			if i%150 == 149 {
				batch[i].Notice.Type, batch[i].Notice.TypeID = "RARE", 4711
				want = append(want, batch[i].Notice.ID)
			}
		}
		n.deliver(t, batch)
		q := query("user:1")
		q.Types = []string{"OTHER", "RARE"}
		for i, limit := range []int{1, 2, 50, 50} {
			q.Limit, q.After = limit, ""
			if i == 3 {
				q.Types = []string{"4711"} // by its id
			}
			var got []string
			for more := true; more; {
				pg := n.poll(t, q)
				got = append(got, ids(pg)...)
				more, q.After = pg.More, pg.Cursor
				if pg.Unread != 450 {
					t.Errorf("unread %d", pg.Unread)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("limit %d: -want +got\n%s", limit, diff)
			}
		}
	})
}

func TestAFilterThatLetsNothingThroughEndsThePage(t *testing.T) {
	t.Parallel()
	n := newNode(t, onMiniredis(t), newMemoryLedger())
	n.deliver(t, makeDeliveries(page.MaxLimit*maxRounds+10, wh, "user:1"))
	q := query("user:1")
	q.Types = []string{"NONE"}
	pg := n.poll(t, q)
	if len(pg.Notices) != 0 || !pg.More {
		t.Errorf("%d notices, more %v", len(pg.Notices), pg.More)
	}
	pg = n.poll(t, after(q, pg.Cursor))
	if len(pg.Notices) != 0 || pg.More || pg.Reset {
		t.Errorf("%d notices, more %v, reset %v", len(pg.Notices), pg.More, pg.Reset)
	}
}

// Expired notices that were not swept yet are skipped, however small the page is.
func TestAPagePassesOverWhatHasExpired(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(time.UnixMicro(1780272600000000))
		n := newNodeThat(t, func(in *Inbox, ctx context.Context) { in.keeper.Run(ctx) }, t.addr, newMemoryLedger(), clock.option)
		batch := makeDeliveries(40, wh, "user:1")
		for i := range batch {
			batch[i].Notice.CreatedAt, batch[i].Notice.ExpiresAt = clock.now(), clock.now().Add(time.Hour)
		}
		last := batch[len(batch)-1].Notice
		last.ExpiresAt = clock.now().Add(3 * time.Hour)
		n.deliver(t, batch)
		clock.advance(2 * time.Hour)
		q := query("user:1")
		q.Limit = 1
		if pg := n.poll(t, q); !slices.Equal(ids(pg), []string{last.ID}) || pg.More || pg.Unread != 1 {
			t.Errorf("a page of %v, more: %t, unread: %d", ids(pg), pg.More, pg.Unread)
		}
	})
}

func TestSinceMeansDeliveredAtOrAfter(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(time.UnixMilli(1780272600000))
		n := newNode(t, t.addr, newMemoryLedger(), clock.option)
		var batches [][]string
		for range 3 {
			batch := makeDeliveries(2, wh, "user:1")
			for i := range batch {
				batch[i].Notice.ExpiresAt = clock.now().Add(30 * 24 * time.Hour)
			}
			n.deliver(t, batch)
			batches = append(batches, idsOf(batch))
			clock.advance(10 * time.Millisecond)
		}
		q := query("user:1")
		for since, want := range map[int64][]string{
			1:             slices.Concat(batches...),
			1780272600000: slices.Concat(batches...),
			1780272600001: slices.Concat(batches[1:]...),
			1780272600010: slices.Concat(batches[1:]...), // those of the same millisecond come again
			1780272600011: batches[2],
			1780272600021: {},
		} {
			q.Since = since
			pg := n.poll(t, q)
			if diff := cmp.Diff(want, ids(pg)); diff != "" || pg.Reset {
				t.Errorf("since %d: -want +got\n%s", since, diff)
			}
		}
		// Without since, the window is three days, whatever the retention.
		q.Since = 0
		clock.advance(window - 25*time.Millisecond)
		if diff := cmp.Diff(slices.Concat(batches[1:]...), ids(n.poll(t, q))); diff != "" {
			t.Errorf("the window: -want +got\n%s", diff)
		}
	})
}

func TestCursorOfAnotherQueryResets(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		mine, role := makeDeliveries(2, wh, "user:1"), makeDeliveries(2, wh, "role:k")
		n.deliver(t, slices.Concat(mine, role))
		cursor := n.poll(t, query("user:1")).Cursor
		all := slices.Concat(idsOf(mine), idsOf(role))

		granted := n.poll(t, after(query("user:1", "role:k"), cursor))
		if diff := cmp.Diff(all, ids(granted)); diff != "" || !granted.Reset {
			t.Errorf("a role granted later: reset %v, -want +got\n%s", granted.Reset, diff)
		}
		taken := n.poll(t, after(query("user:1"), granted.Cursor))
		if diff := cmp.Diff(idsOf(mine), ids(taken)); diff != "" || !taken.Reset {
			t.Errorf("a role taken away: reset %v, -want +got\n%s", taken.Reset, diff)
		}
		typed := query("user:1")
		typed.Types = []string{"REP_NOTICE"}
		if pg := n.poll(t, after(typed, cursor)); !pg.Reset {
			t.Error("another filter kept the cursor")
		}
		elsewhere := query("user:1")
		elsewhere.Warehouse = "other"
		if pg := n.poll(t, after(elsewhere, cursor)); !pg.Reset || len(pg.Notices) != 0 {
			t.Errorf("another warehouse: %+v", pg)
		}
	})
}

func TestBadQueries(t *testing.T) {
	t.Parallel()
	n := newNode(t, onMiniredis(t), newMemoryLedger())
	for name, c := range map[string]struct {
		change func(*page.Query)
		want   error
	}{
		"cursor":      {func(q *page.Query) { q.After = "x" }, page.ErrBadCursor},
		"limit":       {func(q *page.Query) { q.Limit = page.MaxLimit + 1 }, page.ErrBadQuery},
		"negative":    {func(q *page.Query) { q.Limit = -1 }, page.ErrBadQuery},
		"since":       {func(q *page.Query) { q.Since = -1 }, page.ErrBadQuery},
		"warehouse":   {func(q *page.Query) { q.Warehouse = "" }, page.ErrBadQuery},
		"subscribers": {func(q *page.Query) { q.Subscribers = nil }, page.ErrBadQuery},
	} {
		q := query("user:1")
		c.change(&q)
		if _, err := n.Poll(t.Context(), q); !errors.Is(err, c.want) {
			t.Errorf("%s: Poll says %v", name, err)
		}
		if _, err := n.Version(t.Context(), q); !errors.Is(err, c.want) {
			t.Errorf("%s: Version says %v", name, err)
		}
		if err := n.Wait(t.Context(), q, "v"); !errors.Is(err, c.want) {
			t.Errorf("%s: Wait says %v", name, err)
		}
	}
}

func TestAWarehouseWithoutNotices(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		q := query("user:1")
		first := n.poll(t, q)
		if len(first.Notices) != 0 || first.More || first.Reset || first.Unread != 0 {
			t.Errorf("%+v", first)
		}
		if pg := n.poll(t, after(q, first.Cursor)); pg.Reset || pg.Version != first.Version {
			t.Errorf("%+v", pg)
		}
		if all := n.keysLike(t, "*{*"); len(all) != 0 {
			t.Errorf("a poll left keys: %v", all)
		}
		batch := makeDeliveries(1, wh, "user:1")
		n.deliver(t, batch)
		if pg := n.poll(t, after(q, first.Cursor)); pg.Reset || !slices.Equal(ids(pg), idsOf(batch)) {
			t.Errorf("the first notice: %+v", pg)
		}
	})
}

func TestPollsAskTheLedgerNothing(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		n := newNodeThat(t, func(in *Inbox, ctx context.Context) { in.keeper.Run(ctx) }, t.addr, ledger) // nothing else may ask either
		batch := makeDeliveries(3, wh, "user:1", "role:k")
		n.deliver(t, batch)
		n.mark(t, time.Now(), "user:1", true, batch[1].Notice.ID)
		n.readAll(t, time.Now(), "user:1", n.poll(t, query("user:1")).Cursor, "role:k")
		before := ledger.asked()
		ledger.mu.Lock()
		ledger.down = errors.New("the database is down")
		ledger.mu.Unlock()
		q := query("user:1", "role:k")
		for range 20 {
			pg := n.poll(t, q)
			v, err := n.Version(t.Context(), q)
			if err != nil || v != pg.Version {
				t.Fatalf("%s, %s, %v", v, pg.Version, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if err := n.Wait(ctx, q, v); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			cancel()
			q.After = pg.Cursor
			if _, err := n.Summary(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		if asked := ledger.asked() - before; asked != 0 {
			t.Errorf("polls asked the ledger %d questions", asked)
		}
	})
}
