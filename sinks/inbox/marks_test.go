package inbox

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
	"tallyman/sinks/inbox/page"
)

func TestAMarkWakesTheReadersOtherWindows(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		one, other := newNode(t, t.addr, ledger), newNode(t, t.addr, ledger)
		batch := makeDeliveries(3, wh, "role:k")
		one.deliver(t, batch)
		q := query("role:k", "user:1")
		for _, change := range []func(cursor string){
			func(string) { other.mark(t, time.Now(), "user:1", false, batch[0].Notice.ID) },
			func(string) { other.mark(t, time.Now(), "user:1", true, batch[0].Notice.ID) },
			func(cursor string) { other.readAll(t, time.Now(), "user:1", cursor, "role:k") },
		} {
			first := one.poll(t, q)
			done := waiting(t.Context(), one, q, first.Version)
			change(first.Cursor)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			pg := one.poll(t, after(q, first.Cursor))
			if len(pg.Changes) == 0 || pg.Version == first.Version || len(pg.Notices) != 0 {
				t.Errorf("%+v after version %s", pg, first.Version)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			if err := one.Wait(ctx, query("role:k", "user:2"), first.Version); err == nil {
				t.Error("another user was woken")
			}
			cancel()
		}
		if pg := one.poll(t, q); pg.Unread != 0 || !pg.Notices[0].Acked || pg.Notices[1].Acked || !pg.Notices[1].Read {
			t.Errorf("%+v", pg)
		}
		if pg := one.poll(t, query("role:k", "user:2")); pg.Unread != 3 || pg.Notices[0].Read {
			t.Errorf("another user: %+v", pg)
		}
		for _, nobody := range []page.Query{query("role:k"), query("role:k", "user:1", "user:2")} {
			if pg := one.poll(t, nobody); pg.Unread != 3 || pg.Notices[0].Read {
				t.Errorf("%v: %+v", nobody.Subscribers, pg)
			}
		}
	})
}

// More changes than a page tells of come in several pages, and no notice before the last.
func TestManyChangesComeInPages(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		const most, many = 100, 150
		n := newNode(t, t.addr, newMemoryLedger(), func(o *Options) { o.maxChanges = most })
		batch := makeDeliveries(many, wh, "user:1")
		n.deliver(t, batch)
		q := query("user:1")
		q.Limit = page.MaxLimit
		cursor := n.readToEnd(t, q)
		ids := idsOf(batch)
		for part := range slices.Chunk(ids, 30) {
			n.mark(t, time.Now(), "user:1", false, part...)
		}
		late := makeDeliveries(1, wh, "user:1")
		n.deliver(t, late)
		first := n.poll(t, after(q, cursor))
		if len(first.Changes) != most || !first.More || len(first.Notices) != 0 {
			t.Fatalf("%d changes, more %v, %d notices", len(first.Changes), first.More, len(first.Notices))
		}
		second := n.poll(t, after(q, first.Cursor))
		if len(second.Changes) != many-most || second.More || len(second.Notices) != 1 || second.Unread != 1 {
			t.Fatalf("%d changes, more %v, %d notices, %d unread", len(second.Changes), second.More, len(second.Notices), second.Unread)
		}
		got := []string{}
		for _, c := range slices.Concat(first.Changes, second.Changes) {
			got = append(got, c.ID)
		}
		if !slices.Equal(got, ids) {
			t.Error("the changes are not those of the marks, in their order")
		}
		// Each event of the page has a cursor that goes on right behind it.
		events, err := second.Events()
		if err != nil || len(events) != many-most+1 {
			t.Fatalf("%d events, %v", len(events), err)
		}
		pg := n.poll(t, after(q, events[19].Cursor))
		if diff := cmp.Diff(second.Changes[20:], pg.Changes); diff != "" || len(pg.Notices) != 1 {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// A page has all the notices that a read-all covers, so their number is limited. Above the limit the reader starts
// again, and gets the present marks.
func TestAReadAllOfVeryManyBeginsAnew(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		const most = 100
		clock := newTestClock(time.Now())
		n := newNode(t, t.addr, newMemoryLedger(), clock.option, func(o *Options) { o.maxChanges = most / 10 })
		n.deliver(t, makeDeliveries(most/2, wh, "user:1"))
		n.deliver(t, makeDeliveries(most/2, wh, "role:k", "user:1"))
		q := query("user:1")
		q.Limit = page.MaxLimit
		both := query("role:k", "user:1")
		both.Limit = page.MaxLimit
		one, two := n.readToEnd(t, q), n.readToEnd(t, both)
		clock.advance(time.Minute)
		n.readAll(t, clock.now(), "user:1", one, "role:k", "user:1")
		if pg := n.poll(t, after(q, one)); pg.Reset || len(pg.Changes) != most || pg.Unread != 0 {
			t.Errorf("reset %v, %d changes, %d unread", pg.Reset, len(pg.Changes), pg.Unread)
		}
		pg := n.poll(t, after(both, two))
		if !pg.Reset || len(pg.Changes) != 0 || len(pg.Notices) != most || !pg.Notices[0].Read || pg.Unread != 0 {
			t.Errorf("reset %v, %d changes, %d notices, %d unread", pg.Reset, len(pg.Changes), len(pg.Notices), pg.Unread)
		}
		if pg := n.poll(t, after(both, pg.Cursor)); pg.Reset || len(pg.Changes)+len(pg.Notices) != 0 {
			t.Errorf("it goes on with reset %v, %d changes, %d notices", pg.Reset, len(pg.Changes), len(pg.Notices))
		}
		q.Since = clock.now().Add(-time.Second).UnixMilli()
		both.Since = q.Since
		if few, many := n.poll(t, q), n.poll(t, both); few.Reset || len(few.Changes) != most || many.Reset || len(many.Changes) != 0 {
			t.Errorf("since a time: %d changes; of very many: reset %v, %d changes", len(few.Changes), many.Reset, len(many.Changes))
		}
	})
}

// readToEnd polls until there is no more, and returns the cursor.
func (n *node) readToEnd(t testing.TB, q page.Query) string {
	t.Helper()
	for {
		pg := n.poll(t, q)
		q.After = pg.Cursor
		if !pg.More {
			return pg.Cursor
		}
	}
}

// A cursor that is older than forgotten watermarks cannot get the changes: its reader starts again, once.
func TestForgottenWatermarksReset(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		const most = 20
		n := newNode(t, t.addr, newMemoryLedger(), func(o *Options) { o.keepUpto = most })
		q := query("role:k", "user:1")
		q.Limit = 7
		n.deliver(t, makeDeliveries(2, wh, "user:1"))
		early := n.poll(t, q).Cursor
		var late string
		for i := range most + 5 {
			n.deliver(t, makeDeliveries(1, wh, "user:1"))
			cursor := n.poll(t, query("user:1")).Cursor
			if i == most {
				late = n.readToEnd(t, q)
			}
			n.readAll(t, time.Now(), "user:1", n.readToEnd(t, after(query("user:1"), cursor)), "user:1")
		}
		card, err := n.client.ZCard(t.Context(), n.keys.upto(wh, "user:1")).Result()
		if err != nil || card > most+1 {
			t.Errorf("%d entries, %v", card, err)
		}
		pg := n.poll(t, after(q, early))
		if !pg.Reset || len(pg.Changes) != 0 || !pg.Notices[0].Read {
			t.Errorf("reset %v, %d changes", pg.Reset, len(pg.Changes))
		}
		for pg = n.poll(t, after(q, pg.Cursor)); pg.More; pg = n.poll(t, after(q, pg.Cursor)) {
			if pg.Reset || len(pg.Changes) != 0 {
				t.Errorf("a second reset %v, %d changes", pg.Reset, len(pg.Changes))
			}
		}
		if pg := n.poll(t, after(q, late)); pg.Reset || len(pg.Changes) == 0 {
			t.Errorf("a later cursor: reset %v, %d changes", pg.Reset, len(pg.Changes))
		}
	})
}

func TestMarksGoWithTheirNotices(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(time.Now())
		n := newNodeThat(t, func(in *Inbox, ctx context.Context) { in.keeper.Run(ctx) }, t.addr, newMemoryLedger(), clock.option, capOf(3))
		batch := makeDeliveries(3, wh, "role:k")
		for _, d := range batch {
			d.Notice.ExpiresAt = clock.now().Add(2 * time.Hour)
		}
		n.deliver(t, batch)
		first := n.poll(t, query("role:k", "user:1"))
		n.mark(t, clock.now(), "user:1", true, batch[0].Notice.ID, batch[1].Notice.ID)
		n.readAll(t, clock.now(), "user:1", first.Cursor, "role:k")
		trimmed := func(wantMarks, wantUpto int64) {
			t.Helper()
			if err := n.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := n.Trim(t.Context()); err != nil {
				t.Fatal(err)
			}
			marks, _ := n.client.ZCard(t.Context(), n.keys.marks(wh, "user:1")).Result()
			upto, err := n.client.ZCard(t.Context(), n.keys.upto(wh, "user:1")).Result()
			if err != nil || marks != wantMarks || upto != wantUpto {
				t.Errorf("%d marks, %d watermarks, %v; want %d and %d", marks, upto, err, wantMarks, wantUpto)
			}
		}
		trimmed(4, 1)
		clock.advance(90 * time.Minute)
		trimmed(4, 1)
		late := makeDeliveries(2, wh, "role:k") // the cap lets the first two go
		for _, d := range late {
			d.Notice.ExpiresAt = clock.now().Add(time.Hour)
		}
		n.deliver(t, late)
		clock.advance(trimEvery)
		trimmed(0, 1)
		clock.advance(2 * time.Hour) // all have expired
		trimmed(0, 0)
		if left := n.keysLike(t, "*readers*"); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func TestSummary(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		q := query("role:k", "user:1")
		empty, err := n.Summary(t.Context(), q)
		if err != nil || empty.Unread != 0 || len(empty.Latest)+len(empty.Popups) != 0 {
			t.Fatalf("%+v, %v", empty, err)
		}
		batch := makeDeliveries(8, wh, "role:k")
		for _, i := range []int{1, 3, 6} {
			batch[i].Notice.Modal = "popup"
		}
		batch[6].Notice.ExpiresAt = time.Now().Add(-time.Minute) // it is not swept yet, or just now
		batch[3].Recipients = []string{"role:k", "user:1"}
		elsewhere := makeDeliveries(1, wh, "user:2")
		elsewhere[0].Notice.Modal = "popup"
		n.deliver(t, slices.Concat(batch, elsewhere, makeDeliveries(1, wh, "user:4")))
		for name, unread := range map[string]int{"user:3": 0, "user:4": 1} { // there are more popups than they have notices
			if sum, err := n.Summary(t.Context(), query(name)); err != nil || sum.Unread != unread || len(sum.Popups) != 0 {
				t.Errorf("%s: %+v, %v", name, sum, err)
			}
		}
		ids := idsOf(batch)
		n.mark(t, time.Now(), "user:1", false, ids[3], ids[0])
		n.mark(t, time.Now(), "user:1", true, ids[1])
		expect := func(q page.Query, unread int, popups, latest []string) {
			t.Helper()
			sum, err := n.Summary(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]string{"popups": {}, "latest": {}}
			for _, v := range sum.Popups {
				got["popups"] = append(got["popups"], fmt.Sprint(v.ID, v.Read))
			}
			for _, v := range sum.Latest {
				got["latest"] = append(got["latest"], v.ID)
			}
			if diff := cmp.Diff(map[string][]string{"popups": popups, "latest": latest}, got); diff != "" || sum.Unread != unread {
				t.Errorf("%v: %d unread, want %d; -want +got\n%s", q.Subscribers, sum.Unread, unread, diff)
			}
		}
		newest := []string{ids[7], ids[5], ids[4], ids[3], ids[2]}
		expect(q, 4, []string{ids[3] + "true"}, newest)
		expect(query("role:k"), 7, []string{ids[1] + "false", ids[3] + "false"}, newest)
		n.mark(t, time.Now(), "user:1", true, ids[3])
		expect(q, 4, []string{}, newest)
		many := makeDeliveries(page.MaxPopups+1, wh, "user:1")
		for _, d := range many {
			d.Notice.Modal = "popup"
		}
		n.deliver(t, many)
		if sum, err := n.Summary(t.Context(), q); err != nil || len(sum.Popups) != page.MaxPopups || !sum.PopupsMore || sum.Popups[0].ID != many[0].Notice.ID {
			t.Errorf("%d popups, more %v, %v", len(sum.Popups), sum.PopupsMore, err)
		}
	})
}

// A new epoch begins without anything of the old one, and the marks of the ledger are in it.
func TestMarksComeBackAfterALoss(t *testing.T) {
	t.Parallel()
	losses(t, func(t loss) {
		ledger := newMemoryLedger()
		n := newNode(t, t.addr, ledger)
		batch := makeDeliveries(4, wh, "role:k", "user:1")
		n.deliver(t, batch)
		first := n.poll(t, query("role:k", "user:1"))
		n.mark(t, time.Now(), "user:1", true, batch[0].Notice.ID)
		t.snapshot()
		n.mark(t, time.Now(), "user:1", false, batch[3].Notice.ID)
		score := first.Notices[1].Score
		w := watermarkOf("role:k", score, time.Now())
		ledger.readAll(w)
		if err := n.ReadAll(t.Context(), []delivery.Watermark{w}); err != nil {
			t.Fatal(err)
		}
		before := n.poll(t, after(query("role:k", "user:1"), first.Cursor))
		t.lose()
		pg := n.poll(t, after(query("role:k", "user:1"), before.Cursor))
		want := []string{"true true", "true false", "false false", "true false"}
		got := []string{}
		for _, v := range pg.Notices {
			got = append(got, fmt.Sprint(v.Read, v.Acked))
		}
		if diff := cmp.Diff(want, got); diff != "" || !pg.Reset || pg.Unread != 1 || pg.Clock < before.Clock {
			t.Errorf("reset %v, %d unread, clock %d after %d, -want +got\n%s", pg.Reset, pg.Unread, pg.Clock, before.Clock, diff)
		}
		if pg := n.poll(t, after(query("role:k", "user:1"), pg.Cursor)); len(pg.Changes)+len(pg.Notices) != 0 {
			t.Errorf("it comes again: %+v", pg)
		}
	})
}

// A warehouse may have marks alone: its notices have expired, or are on their way.
func TestMarksAloneComeBackAfterALoss(t *testing.T) {
	t.Parallel()
	losses(t, func(t loss) {
		ledger := newMemoryLedger()
		n := newNode(t, t.addr, ledger)
		w := watermarkOf("user:1", 1, time.Now())
		ledger.readAll(w)
		if err := n.ReadAll(t.Context(), []delivery.Watermark{w}); err != nil {
			t.Fatal(err)
		}
		t.snapshot()
		begun := ledger.epochs()
		t.lose()
		if pg := n.poll(t, query("user:1")); len(pg.Notices) != 0 {
			t.Errorf("it has %v", ids(pg))
		}
		if now := ledger.epochs(); now > begun+5 { // a failover may take another try; a rebuild that cannot end tries for ever
			t.Errorf("%d epochs were begun after one loss", now-begun)
		}
	})
}

// If the next Redis has a slow clock, new notices must not count as read when they arrive. So the clock continues above
// the watermarks of users.
func TestNothingIsReadBeforeItIsThere(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(time.Now())
		n := newNode(t, t.addr, newMemoryLedger(), clock.option)
		n.deliver(t, makeDeliveries(1, wh, "user:1"))
		clock.advance(2 * time.Second)
		if _, err := n.Deliver(t.Context(), wh, makeDeliveries(1, wh, "user:1")); err != nil { // and the ledger never hears of it
			t.Fatal(err)
		}
		n.readAll(t, clock.now(), "user:1", n.poll(t, query("user:1")).Cursor, "user:1")
		clock.advance(-2 * time.Second)
		begun := n.ledger.epochs()
		n.forget(t)
		n.keeper.CheckNow()
		testenv.Eventually(t, func() bool { return n.ledger.epochs() > begun && n.Ready() == nil }, 20*time.Second)
		n.deliver(t, makeDeliveries(1, wh, "user:1"))
		if err := n.catchUp(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if pg := n.poll(t, query("user:1")); pg.Unread != 1 || len(pg.Notices) != 2 || !pg.Notices[0].Read || pg.Notices[1].Read {
			t.Errorf("%d unread: %+v", pg.Unread, pg.Notices)
		}
	})
}

func TestRebuildOfManyMarks(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	r := testenv.Redis(t)
	ledger := newMemoryLedger()
	start := time.Now().Add(-time.Hour)
	for i, d := range makeDeliveries(rebuilt, wh, "role:k") {
		user := fmt.Sprintf("user:%d", i%50)
		d.Recipients = []string{fmt.Sprintf("role:%d", i%20)}
		ledger.delivered[d.Seq] = delivery.ScoredDelivery{Delivery: d, Score: start.UnixMicro() + int64(i)}
		ledger.marks = append(ledger.marks, delivery.Mark{Notice: d.Notice.ID, Warehouse: wh, User: user, Acked: i%10 == 0, At: start})
	}
	sorted := ledger.sorted()
	lost := time.Now()
	n := newNode(t, r.Addr, ledger, func(o *Options) { o.Ledger = sorted })
	pg := n.poll(t, query("role:0", "user:0"))
	t.Logf("%d notices with %d marks came back in %s", rebuilt, len(ledger.marks), time.Since(lost))
	if len(pg.Notices) == 0 || !pg.Notices[0].Acked {
		t.Errorf("%+v", pg.Notices)
	}
}
