package inbox

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/delivery"
	"tallyman/sinks"
)

func TestDeliverAndPoll(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		batch := makeDeliveries(3, wh, "user:1", "role:keeper")
		other := makeDeliveries(2, wh, "user:2")
		receipts := n.deliver(t, slices.Concat(batch, other))

		last := time.Now().Add(-time.Minute).UnixMicro()
		for i, r := range receipts {
			if r.Score <= last || r.Epoch != n.ledger.epoch() {
				t.Errorf("receipt %d: %+v after score %d", i, r, last)
			}
			last = r.Score
		}
		for subscriber, want := range map[string][]delivery.Delivery{"user:1": batch, "role:keeper": batch, "user:2": other, "user:3": nil} {
			pg := n.poll(t, query(subscriber))
			if diff := cmp.Diff(idsOf(want), ids(pg)); diff != "" {
				t.Errorf("%s: -want +got\n%s", subscriber, diff)
			}
			if pg.Unread != len(want) || pg.UnreadMore || pg.More || pg.Reset || pg.Clock != receipts[4].Score {
				t.Errorf("%s: %+v", subscriber, pg)
			}
		}
		pg := n.poll(t, query("user:1", "role:keeper", "user:2"))
		if diff := cmp.Diff(idsOf(slices.Concat(batch, other)), ids(pg)); diff != "" {
			t.Errorf("all of them: -want +got\n%s", diff)
		}
		if pg.Unread != 5 {
			t.Errorf("unread %d", pg.Unread)
		}
		if diff := cmp.Diff(batch[0].Notice, pg.Notices[0].Notice); diff != "" || pg.Notices[0].Score != receipts[0].Score {
			t.Errorf("the notice changed on its way: -want +got\n%s", diff)
		}
	})
}

// Scores are µs since 1970, 16 digits: Lua's own conversion to text would round them, and a double would lose
// the last digit from 2^53 on.
func TestScoresAreExact(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		for _, start := range []int64{1780272600000000, 1999999999999999, 9007199254740000, maxExact - 20} {
			clock := newTestClock(time.UnixMicro(start))
			n := newNode(t, t.addr, newMemoryLedger(), clock.option, func(o *Options) { o.Prefix = time.UnixMicro(start).UTC().Format("20060102:") })
			batch := makeDeliveries(10, wh, "user:1")
			for i := range batch {
				batch[i].Notice.ExpiresAt = time.UnixMicro(math.MaxInt64 / 2).UTC()
			}
			// The epoch began with the clock at start, so the first score is one above.
			for i, r := range n.deliver(t, batch) {
				if want := start + 1 + int64(i); r.Score != want {
					t.Fatalf("score %d is %d, want %d", i, r.Score, want)
				}
			}
			q := query("user:1")
			q.Limit = 1
			for i := range batch { // every cursor stands between two scores that differ in the last digit
				pg := n.poll(t, q)
				if len(pg.Notices) != 1 || pg.Notices[0].ID != batch[i].Notice.ID || pg.Notices[0].Score != start+1+int64(i) {
					t.Fatalf("page %d: %v", i, ids(pg))
				}
				q.After = pg.Cursor
			}
			n.stop()
		}
	})
}

const maxExact = 1<<53 - 1

func TestScoresFollowTheClockAndNeverGoBack(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		start := time.UnixMicro(1780272600000000)
		clock := newTestClock(start)
		n := newNode(t, t.addr, newMemoryLedger(), clock.option)
		clock.advance(time.Hour)
		first := n.deliver(t, makeDeliveries(2, wh, "user:1")) // opens the warehouse at this moment
		clock.advance(-30 * time.Minute)                       // the server's clock is set back
		second := n.deliver(t, makeDeliveries(1, wh, "user:2"))
		clock.advance(time.Hour)
		third := n.deliver(t, makeDeliveries(1, wh, "user:1"))
		got := []int64{first[0].Score, first[1].Score, second[0].Score, third[0].Score}
		at := start.Add(time.Hour).UnixMicro()
		want := []int64{at + 1, at + 2, at + 3, start.Add(90 * time.Minute).UnixMicro()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

func TestDeliverAgainGivesTheSameReceipt(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		batch := slices.Concat(makeDeliveries(2, wh, "user:1"), makeDeliveries(2, wh, "role:k", "user:2"))
		first := n.deliver(t, batch)
		again := n.deliver(t, batch)
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("the same batch: -first +again\n%s", diff)
		}
		more := slices.Concat(makeDeliveries(1, wh, "user:1"), batch[1:3], makeDeliveries(1, wh, "user:1"))
		mixed := n.deliver(t, more)
		if diff := cmp.Diff(first[1:3], mixed[1:3]); diff != "" {
			t.Errorf("old among new: -first +again\n%s", diff)
		}
		if mixed[0].Score <= first[3].Score || mixed[3].Score != mixed[0].Score+1 && mixed[3].Score <= mixed[0].Score {
			t.Errorf("new among old: %+v", mixed)
		}
		pg := n.poll(t, query("user:1", "user:2", "role:k"))
		want := slices.Concat(idsOf(batch), []string{more[0].Notice.ID, more[3].Notice.ID})
		if diff := cmp.Diff(want, ids(pg)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

func TestDeliverTheSameNoticeTwiceInABatch(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		batch := makeDeliveries(2, wh, "user:1")
		twice := []delivery.Delivery{batch[0], batch[1], batch[0]}
		twice[2].Seq = 1 << 40
		receipts := n.deliver(t, twice)
		if receipts[2].Score != receipts[0].Score || receipts[2].Seq != 1<<40 {
			t.Errorf("%+v", receipts)
		}
		if pg := n.poll(t, query("user:1")); len(pg.Notices) != 2 {
			t.Errorf("%v", ids(pg))
		}
	})
}

func TestDeliverManyInSeveralCalls(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		batch := slices.Concat(makeDeliveries(700, wh, "user:1"), makeDeliveries(500, wh, "role:k"), makeDeliveries(3, wh, "role:k", "user:1"))
		for i := range 3 { // three that make a call too long by their bytes alone
			batch[i*2].Notice.Body = strings.Repeat("x", maxBytes/2)
		}
		receipts := n.deliver(t, batch)
		if !slices.IsSortedFunc(receipts, func(a, b delivery.Receipt) int { return int(a.Score - b.Score) }) {
			t.Error("the scores are not in the order of the batch")
		}
		q, got := query("role:k", "user:1"), []string{}
		q.Limit = 200
		for {
			pg := n.poll(t, q)
			got = append(got, ids(pg)...)
			if !pg.More {
				break
			}
			q.After = pg.Cursor
		}
		if diff := cmp.Diff(idsOf(batch), got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

func TestDeliverRefusesAnotherWarehouse(t *testing.T) {
	t.Parallel()
	n := newNode(t, onMiniredis(t), newMemoryLedger())
	batch := slices.Concat(makeDeliveries(1, wh, "user:1"), makeDeliveries(1, "other", "user:1"))
	_, err := n.Deliver(t.Context(), wh, batch)
	refused, ok := errors.AsType[*sinks.RefusedError](err)
	if !ok || !slices.Equal(refused.Seqs, []int64{batch[1].Seq}) {
		t.Errorf("a notice of another warehouse: %v", err)
	}
	if pg := n.poll(t, query("user:1")); len(pg.Notices) != 0 {
		t.Errorf("%v", ids(pg))
	}
	if receipts, err := n.Deliver(t.Context(), wh, nil); err != nil || len(receipts) != 0 {
		t.Errorf("nothing to deliver: %v, %v", receipts, err)
	}
}

func TestDeliverEndsWithItsContext(t *testing.T) {
	t.Parallel()
	n := newNode(t, onMiniredis(t), newMemoryLedger())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.Deliver(ctx, wh, makeDeliveries(1, wh, "user:1")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The lists of a call put every subscriber into exactly one of them.
func TestLists(t *testing.T) {
	t.Parallel()
	to := func(s ...string) entry { return entry{to: s} }
	batch := []entry{to("a", "b"), to("c"), to("a", "b"), to("a", "b", "c"), to("d")}
	subscribers, got := lists(audiences(batch))
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, subscribers); diff != "" {
		t.Error(diff)
	}
	want := []noticeSet{
		{inboxes: []int{0, 1}, notices: []int{0, 2, 3}},
		{inboxes: []int{2}, notices: []int{1, 3}},
		{inboxes: []int{3}, notices: []int{4}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(noticeSet{})); diff != "" {
		t.Error(diff)
	}
}
