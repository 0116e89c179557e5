package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

// BenchmarkReads fills the ledger with 100,000 sent deliveries and measures reading all of them back, which a rebuild
// of the inbox does, and the questions that are asked all the time.
func BenchmarkReads(b *testing.B, l ledger.Ledger) {
	b.Helper()
	const commits, page = 100, 500
	f := &fixture{Ledger: l, clock: newClock(time.Now())}
	f.subscribed(b)
	for n := 1; n <= commits; n++ {
		c, err := l.Claim(b.Context(), rule, scope, due(n), "a", time.Hour)
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
		{"mark sent, stale", func() error { return l.MarkSent(b.Context(), []delivery.Receipt{{Seq: 1}}) }},
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
			c, err := l.Claim(b.Context(), rule, scope, due(n), "a", time.Hour)
			noError(b, err)
			_, err = l.Commit(b.Context(), c, commitOf(c))
			noError(b, err)
		}
	})
}
