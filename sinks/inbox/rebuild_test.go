package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
	"tallyman/sinks/inbox/page"
	"tallyman/sinks/recovery"
)

// loss is a test with a Redis that is about to lose something: what it held at the snapshot may come back.
type loss struct {
	site
	snapshot, lose func()
}

// losses are the ways in which Redis loses what it held.
func losses(t *testing.T, test func(t loss)) {
	t.Helper()
	testenv.Losses(t, "{"+wh+"}", func(t testenv.Loss) { test(loss{site{t.T, t.Addr}, t.Snapshot, t.Lose}) })
}

func flushAll(t *testing.T, r *testenv.RedisServer) {
	t.Helper()
	if err := r.Client(t).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestInboxesComeBackAfterALoss(t *testing.T) {
	t.Parallel()
	losses(t, func(t loss) {
		ledger := newMemoryLedger()
		nodes := []*node{newNode(t, t.addr, ledger), newNode(t, t.addr, ledger)}
		early := makeDeliveries(3, wh, "role:k", "user:1")
		old := makeDeliveries(1, wh, "user:1")
		old[0].Notice.ExpiresAt = time.Now().Add(1500 * time.Millisecond) // expires while Redis is away
		nodes[0].deliver(t, slices.Concat(early, old))
		nodes[0].deliver(t, makeDeliveries(2, "other", "user:1"))
		t.snapshot()
		late := makeDeliveries(4, wh, "user:1")
		receipts := nodes[1].deliver(t, late)
		// Delivered, but the node died before the ledger knew: it is delivered again, with a score above all others.
		unrecorded := makeDeliveries(1, wh, "user:1", "user:2")
		if _, err := nodes[1].Deliver(t.Context(), wh, unrecorded); err != nil {
			t.Fatal(err)
		}
		before := nodes[0].poll(t, query("user:1"))
		epoch := ledger.epoch()
		<-time.After(time.Until(old[0].Notice.ExpiresAt))

		t.lose()
		want := idsOf(slices.Concat(early, late))
		for i, n := range nodes {
			// The first question after the loss is answered with everything, however the loss came about.
			pg := n.poll(t, after(query("user:1"), before.Cursor))
			if diff := cmp.Diff(want, ids(pg)); diff != "" || !pg.Reset {
				t.Errorf("node %d: reset %v, -want +got\n%s", i, pg.Reset, diff)
			}
			if got := scores(pg)[3:]; !slices.Equal(got, scoresOf(receipts)) {
				t.Errorf("node %d: scores %v, want %v", i, got, scoresOf(receipts))
			}
			if pg := n.poll(t, query("user:2")); len(pg.Notices) != 0 {
				t.Errorf("node %d: user:2 got %v, which is recorded for nobody", i, ids(pg))
			}
			if pg := n.poll(t, query("user:3", "role:other")); len(pg.Notices) != 0 {
				t.Errorf("node %d: a reader without subscription got %v", i, ids(pg))
			}
		}
		if ledger.epoch() == epoch || ledger.begun != 2 {
			t.Errorf("epoch %s after %s; %d epochs were begun by two nodes", ledger.epoch(), epoch, ledger.begun)
		}

		cursor := nodes[0].poll(t, query("user:1")).Cursor
		again := nodes[1].deliver(t, unrecorded)
		if last := receipts[len(receipts)-1].Score; again[0].Score <= last {
			t.Errorf("score %d is not above %d", again[0].Score, last)
		}
		for i, n := range nodes {
			pg := n.poll(t, after(query("user:1"), cursor))
			if diff := cmp.Diff(idsOf(unrecorded), ids(pg)); diff != "" || pg.Reset {
				t.Errorf("node %d after the rebuild: reset %v, -want +got\n%s", i, pg.Reset, diff)
			}
		}
	})
}

func TestRebuildOfManyIsCapped(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	r := testenv.Redis(t)
	ledger := newMemoryLedger()
	const many = rebuilt
	start := time.Now().Add(-time.Hour).UnixMicro()
	var newest []string
	for i, d := range makeDeliveries(many, wh, "user:1", "role:k") {
		if i >= many-DefaultCap {
			newest = append(newest, d.Notice.ID)
		}
		if i%20 != 0 { // the role gets one in twenty
			d.Recipients = []string{"user:1"}
		}
		ledger.delivered[d.Seq] = delivery.ScoredDelivery{Delivery: d, Score: start + int64(i)}
	}
	sorted := ledger.sorted()
	lost := time.Now()
	n := newNode(t, r.Addr, ledger, func(o *Options) { o.Ledger = sorted })
	q := query("user:1")
	q.Limit = page.MaxLimit
	if _, err := n.Poll(t.Context(), q); err != nil {
		t.Fatalf("after %s: %v", time.Since(lost), err)
	}
	t.Logf("%d notices came back in %s", many, time.Since(lost))
	var got []string
	for pg := n.poll(t, q); ; pg = n.poll(t, after(q, pg.Cursor)) {
		got = append(got, ids(pg)...)
		if !pg.More {
			break
		}
	}
	if !slices.Equal(got, newest) {
		t.Errorf("%d notices in the inbox, want the newest %d", len(got), len(newest))
	}
	if pg := n.poll(t, query("role:k")); pg.Unread != 999 || !pg.UnreadMore {
		t.Errorf("role:k: %d unread, more %v", pg.Unread, pg.UnreadMore)
	}
	card, err := n.client.ZCard(t.Context(), n.keys.inbox(wh, "role:k")).Result()
	if err != nil || card != many/20 {
		t.Errorf("role:k has %d, %v", card, err)
	}
}

func TestRestartOfANodeKeepsTheEpoch(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		first := newNode(t, t.addr, ledger)
		batch := makeDeliveries(2, wh, "user:1")
		first.deliver(t, batch)
		cursor := first.poll(t, query("user:1")).Cursor
		first.stop()
		second := newNode(t, t.addr, ledger)
		if pg := second.poll(t, after(query("user:1"), cursor)); pg.Reset || len(pg.Notices) != 0 {
			t.Errorf("%+v", pg)
		}
		if ledger.begun != 1 {
			t.Errorf("%d epochs", ledger.begun)
		}
	})
}

func TestOneWarehouseLostIsNoticed(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		batch := makeDeliveries(2, wh, "user:1")
		n.deliver(t, batch)
		cursor := n.poll(t, query("user:1")).Cursor
		for _, keys := range [][]string{n.keys.all(wh, 0), {n.keys.clock(wh)}} {
			if err := n.client.Del(t.Context(), keys...).Err(); err != nil {
				t.Fatal(err)
			}
			pg := n.poll(t, after(query("user:1"), cursor))
			if diff := cmp.Diff(idsOf(batch), ids(pg)); diff != "" || !pg.Reset {
				t.Errorf("reset %v, -want +got\n%s", pg.Reset, diff)
			}
			cursor = pg.Cursor
		}
	})
}

func TestClockGoneBackIsNoticed(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		n := newNode(t, t.addr, ledger)
		batch := makeDeliveries(2, wh, "user:1")
		receipts := n.deliver(t, batch)
		cursor := n.poll(t, query("user:1")).Cursor
		back := fmt.Sprint(receipts[0].Score)
		if err := n.client.HSet(t.Context(), n.keys.clock(wh), "clock", back).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Version(t.Context(), after(query("user:1"), cursor)); err != nil {
			t.Fatal(err)
		}
		pg := n.poll(t, after(query("user:1"), cursor))
		if diff := cmp.Diff(idsOf(batch), ids(pg)); diff != "" || !pg.Reset || ledger.begun != 2 {
			t.Errorf("reset %v, %d epochs, -want +got\n%s", pg.Reset, ledger.begun, diff)
		}
	})
}

// A cursor that is ahead of the ledger is no sign of a loss: its reader starts again, and other readers notice nothing.
func TestCursorsThatWereMadeUpDisturbNobody(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		n := newNode(t, t.addr, ledger)
		batch := makeDeliveries(2, wh, "user:1")
		n.deliver(t, batch)
		held, _ := n.keeper.Current()
		madeUp := func(q page.Query, score, changes int64) page.Query {
			return after(q, page.Cursor{Epoch: ledger.epoch(), Score: score, Changes: changes, Query: q.Hash()}.Encode())
		}
		mine, far := query("user:1"), time.Now().Add(time.Hour).UnixMicro()
		for _, q := range []page.Query{madeUp(mine, far, far), madeUp(mine, 1, far)} {
			if _, err := n.Version(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			pg := n.poll(t, q)
			if diff := cmp.Diff(idsOf(batch), ids(pg)); diff != "" || !pg.Reset || pg.Unread != 2 {
				t.Errorf("reset %v, %d unread, -want +got\n%s", pg.Reset, pg.Unread, diff)
			}
			if pg := n.poll(t, after(mine, pg.Cursor)); pg.Reset || len(pg.Notices) != 0 {
				t.Errorf("it goes on with %+v", pg)
			}
		}
		elsewhere := query("user:1")
		elsewhere.Warehouse = "none"
		if pg := n.poll(t, madeUp(elsewhere, far, far)); !pg.Reset || len(pg.Notices) != 0 {
			t.Errorf("where there was never a notice: %+v", pg)
		}
		if g, _ := n.keeper.Current(); g != held || ledger.begun != 1 {
			t.Errorf("the index was given up, %d epochs were begun", ledger.begun)
		}
	})
}

// After a loss, a node must not take a warehouse for a new one. Otherwise readers would get a notice twice that was
// delivered but not recorded.
func TestALossIsNoticedBeforeAWarehouseIsOpened(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		first := newNode(t, t.addr, ledger)
		// It looks once, as a node that is about to find out what has happened.
		second := newNodeThat(t, func(in *Inbox, ctx context.Context) {
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			_, begun := in.keeper.Current()
			go func() {
				<-begun
				stop()
			}()
			in.keeper.Run(ctx)
		}, t.addr, ledger)
		g, _ := second.keeper.Current()
		told := makeDeliveries(1, wh, "user:1")
		if _, err := first.Deliver(t.Context(), wh, told); err != nil {
			t.Fatal(err)
		}
		first.stop()
		second.forget(t)
		e, err := second.newEntry(&told[0], 0)
		if err != nil {
			t.Fatal(err)
		}
		scores, err := second.putInto(t.Context(), g, wh, second.newFanoutCall(g.Epoch, wh, "", []entry{e}))
		if !errors.Is(err, recovery.ErrLost) || second.keeper.Is(g) {
			t.Errorf("it was delivered again, with score %v: %v", scores, err)
		}
		if left := second.keysLike(t, "*"); len(left) != 0 {
			t.Errorf("Redis has %v", left)
		}
	})
}

func scores(pg page.Page) []int64 {
	out := []int64{}
	for _, v := range pg.Notices {
		out = append(out, v.Score)
	}
	return out
}

func scoresOf(receipts []delivery.Receipt) []int64 {
	out := []int64{}
	for _, r := range receipts {
		out = append(out, r.Score)
	}
	return out
}
