package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// The sizes of the benchmark of the commit path.
const (
	BenchBatch   = 1000 // findings, notices and deliveries of a commit
	BenchReceipt = 500  // receipts of one MarkSent
)

// Bare makes the rows of a commit, and returns a function that writes them without a ledger. Only the writing is
// timed.
type Bare func(b *testing.B, batch *ledger.Commit) (write func())

// BenchmarkCommit writes commits by the ledger and by bare in turn. BenchmarkCommit reports notices per second for
// both, and their ratio. The time excludes the claims and the reads of pending deliveries. With markSent, the time of
// the ledger includes marking as sent.
func BenchmarkCommit(b *testing.B, l ledger.Ledger, bare Bare, markSent bool) {
	b.Helper()
	f := (&base{Ledger: l, clock: newClock(time.Now())}).fixture()
	f.subscribed(b)
	f.subscribe(b, ledger.Subscription{Type: "REP_NOTICE", Warehouse: warehouse, Subscriber: "role:keeper"})
	var ours, theirs time.Duration
	n := 0
	for b.Loop() {
		n++
		c, err := l.Claim(b.Context(), rule, scope, 0, due(n), "a", time.Hour)
		noError(b, err)
		run := benchCommit(c, n)
		ours += timed(func() {
			done, err := l.Commit(b.Context(), c, run)
			noError(b, err)
			equal(b, BenchBatch, done.Deliveries)
		})
		list, err := l.Pending(b.Context(), inboxLane, BenchBatch)
		noError(b, err)
		equal(b, BenchBatch, len(list))
		took := markAll(b, f, list, int64(n)*BenchBatch)
		if markSent {
			ours += took
		}
		theirs += timed(bare(b, run))
	}
	notices := float64(n * BenchBatch)
	b.ReportMetric(notices/ours.Seconds(), "notices/s")
	b.ReportMetric(notices/theirs.Seconds(), "bare-notices/s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "ratio")
	b.ReportMetric(0, "ns/op")
}

// markAll marks the deliveries as sent and returns how long that took.
func markAll(b *testing.B, f *fixture, list []delivery.Delivery, score int64) time.Duration {
	b.Helper()
	var took time.Duration
	for len(list) > 0 {
		size := min(BenchReceipt, len(list))
		took += timed(func() { f.send(b, list[:size], "e1", score) })
		score += int64(size)
		list = list[size:]
	}
	return took
}

func timed(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

// benchCommit makes a commit of new findings, each with a notice of about 600 bytes in protobuf.
func benchCommit(c ledger.Claim, n int) *ledger.Commit {
	run := commitOf(c)
	for i := range BenchBatch {
		key := fmt.Sprintf(`[119240,"A-%02d-%04d","SKU-%05d"]`, n%100, i, n*BenchBatch+i)
		note := newNotice(fmt.Sprintf("n_%s%08d", strings.Repeat("k", 10), shuffled(n*BenchBatch+i)))
		note.Key = key
		note.CreatedAt, note.ExpiresAt = time.Now(), time.Now().Add(24*time.Hour)
		note.Body = strings.Repeat("Replenish the bin from the bulk area. ", 10)
		run.Notices = append(run.Notices, ledger.NewNotice{Notice: note, Sinks: []ledger.Target{inbox}})
		state := firing(key)
		state.NoticeID = note.ID
		seen := fmt.Sprintf(`{"wh_id":119240,"bin_code":"A-%02d-%04d","sku":"SKU-%05d","qty":"-3.00","wave_no":77}`, n%100, i, n*BenchBatch+i)
		run.Findings = append(run.Findings, ledger.FindingChange{State: state, Op: ledger.Insert, Row: []byte(seen)})
	}
	return run
}

// shuffled spreads numbers below 100,000,000 as the hashes in notice ids are spread.
func shuffled(n int) int { return n * 61_803_399 % 100_000_000 }

// BenchmarkReads fills the ledger with 100,000 sent deliveries. BenchmarkReads measures reading them back, as a rebuild
// of the inbox does, and the queries that nodes repeat all the time.
func BenchmarkReads(b *testing.B, l ledger.Ledger) {
	b.Helper()
	const commits, page = 100, 500
	f := (&base{Ledger: l, clock: newClock(time.Now())}).fixture()
	f.subscribed(b)
	for n := 1; n <= commits; n++ {
		c, err := l.Claim(b.Context(), rule, scope, 0, due(n), "a", time.Hour)
		noError(b, err)
		_, err = l.Commit(b.Context(), c, benchCommit(c, n))
		noError(b, err)
		list, err := l.Pending(b.Context(), inboxLane, BenchBatch)
		noError(b, err)
		markAll(b, f, list, int64(n)*BenchBatch)
	}
	b.Run("rebuild", func(b *testing.B) {
		for b.Loop() {
			got := 0
			after := int64(0)
			for {
				list, err := l.Delivered(b.Context(), inboxLane, after, page)
				noError(b, err)
				if len(list) == 0 {
					break
				}
				got += len(list)
				after = list[len(list)-1].Score
			}
			equal(b, commits*BenchBatch, got)
		}
		b.ReportMetric(float64(commits*BenchBatch*b.N)/b.Elapsed().Seconds(), "notices/s")
	})
	for _, q := range []struct {
		name string
		ask  func() error
	}{
		{"pending lanes, none", func() error { _, err := l.PendingLanes(b.Context(), inboxSink); return err }},
		{"pending, none", func() error { _, err := l.Pending(b.Context(), inboxLane, page); return err }},
		{"count deliveries", func() error { _, err := l.CountDeliveries(b.Context()); return err }},
		{"highest scores", func() error { _, err := l.HighestScores(b.Context(), inboxSink); return err }},
		{"mark sent, stale", func() error { return l.MarkSent(b.Context(), "", []delivery.Receipt{{Seq: 1}}, delivery.Attempt{}) }},
		{"totals", func() error { _, err := l.Totals(b.Context()); return err }},
		{"findings", func() error { _, err := l.Findings(b.Context(), rule, scope); return err }},
		{"types version", func() error { _, err := l.TypesVersion(b.Context()); return err }},
	} {
		b.Run(q.name, func(b *testing.B) {
			for b.Loop() {
				noError(b, q.ask())
			}
		})
	}
	n := commits
	b.Run("claim and empty commit", func(b *testing.B) {
		for b.Loop() {
			n++
			c, err := l.Claim(b.Context(), rule, scope, 0, due(n), "a", time.Hour)
			noError(b, err)
			_, err = l.Commit(b.Context(), c, commitOf(c))
			noError(b, err)
		}
	})
}

// BenchmarkSends sends requests of one notice from four senders for each processor at once, and requests of a thousand
// notices from one sender. Then BenchmarkSends sends another notice and marks the notice as read for many users.
func BenchmarkSends(b *testing.B, l ledger.Ledger) {
	b.Helper()
	f := (&base{Ledger: l, clock: newClock(time.Now())}).fixture()
	f.subscribed(b)
	var last atomic.Int64
	request := func(n int) []ledger.NewNotice {
		list := make([]ledger.NewNotice, n)
		for i := range list {
			note := sentNotice(fmt.Sprintf("n_%016d", shuffled(int(last.Add(1)))))
			note.CreatedAt, note.ExpiresAt = time.Now(), time.Now().Add(time.Hour)
			list[i] = ledger.NewNotice{Notice: note, Sinks: []ledger.Target{inbox}}
		}
		return list
	}
	b.Run("one", func(b *testing.B) {
		b.SetParallelism(4) // 4 senders for each processor
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := l.Send(b.Context(), request(1)); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("a thousand", func(b *testing.B) {
		for b.Loop() {
			_, err := l.Send(b.Context(), request(1000))
			noError(b, err)
		}
	})
	b.Run("marks", func(b *testing.B) {
		list := request(1)
		_, err := l.Send(b.Context(), list)
		noError(b, err)
		n := 0
		for b.Loop() {
			n++
			m := markOf(list[0].Notice.ID, fmt.Sprintf("user:%d", n), ledger.MarkRead)
			m.As = append(m.As, "user:1")
			noError(b, l.Mark(b.Context(), m))
		}
	})
}

// The sizes of the benchmark of removals.
const (
	removedFindings = 20_000
	removedPortion  = 500
)

// BenchmarkForget closes a removed rule with 20,000 findings, each with a notice in the inbox, in portions of 500.
// BenchmarkForget reports the total time, including reading the findings and notices. BenchmarkForget also reports the
// median and the longest time of a portion. For this time a portion holds the lock of its rule and scope. Other scopes
// of the rule, and other rules, do not wait for this lock.
func BenchmarkForget(b *testing.B, l ledger.Ledger) {
	b.Helper()
	f := (&base{Ledger: l, clock: newClock(time.Now())}).fixture()
	f.subscribed(b)
	var whole time.Duration
	var held []time.Duration
	n := 0
	for b.Loop() {
		b.StopTimer()
		f.register(b)
		for range removedFindings / BenchBatch {
			n++
			claim := f.claimFor(b, n)
			f.commitRun(b, claim, benchCommit(claim, n))
		}
		b.StartTimer()
		whole += timed(func() { held = append(held, f.forgetAll(b, n)...) })
	}
	slices.Sort(held)
	b.ReportMetric(whole.Seconds()*1000/float64(b.N), "ms")
	b.ReportMetric(held[len(held)/2].Seconds()*1000, "portion-p50-ms")
	b.ReportMetric(held[len(held)-1].Seconds()*1000, "portion-max-ms")
	b.ReportMetric(0, "ns/op")
}

// forgetAll closes the rule after its n-th run, which is the last one, and returns the time of each portion.
func (f *base) forgetAll(b *testing.B, n int) (took []time.Duration) {
	b.Helper()
	list, err := f.Findings(b.Context(), rule, scope)
	noError(b, err)
	equal(b, removedFindings, len(list))
	for part := range slices.Chunk(list, removedPortion) {
		p := &ledger.ForgetPortion{Rule: rule, Scope: scope, LastDue: due(n), Last: len(took)+1 == removedFindings/removedPortion}
		for _, st := range part {
			p.Keys, p.Over = append(p.Keys, st.Key), append(p.Over, st.NoticeID)
		}
		told, err := f.Notices(b.Context(), p.Over)
		noError(b, err)
		for _, id := range p.Over {
			over := *told[id]
			over.ID, over.Status = id+" resolved", notice.Resolved
			p.Notices = append(p.Notices, ledger.NewNotice{Notice: &over, Sinks: []ledger.Target{inbox}, After: id})
		}
		took = append(took, timed(func() {
			_, err := f.Forget(b.Context(), p)
			noError(b, err)
		}))
	}
	return took
}

// BenchmarkOldestPending measures OldestPending, which every scrape of the metrics calls. The ledger has up to a
// million pending deliveries to the given number of sinks.
func BenchmarkOldestPending(b *testing.B, l ledger.Ledger, sinks int) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		took = append(took, timed(func() {
			oldest, err := l.OldestPending(b.Context())
			noError(b, err)
			equal(b, sinks, len(oldest))
		}))
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
	b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
	b.ReportMetric(0, "ns/op")
}
