package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// BenchmarkCommitPushes measures what a push channel adds to a commit of BenchBatch notices to the inbox, and what it costs to have the
// notices over. It reports the milliseconds of each.
func BenchmarkCommitPushes(b *testing.B, l ledger.Ledger) {
	b.Helper()
	f := &fixture{Ledger: l, clock: newClock(time.Now())}
	f.subscribed(b)
	_, err := l.PutSubscriber(b.Context(), Ann, delivery.Subscriber{ID: "user:1", Mail: []string{"a@example.com"}})
	noError(b, err)
	sparing := delivery.Strategy{Kind: delivery.Delayed, Delay: time.Hour, Unless: delivery.UnlessResolved}
	n := 0
	for _, c := range []struct {
		name    string
		targets []ledger.Target
	}{
		{"inbox", []ledger.Target{inbox}},
		{"and push", []ledger.Target{inbox, {Sink: gateway, Strategy: &sparing}}},
		{"and each", []ledger.Target{inbox, {Sink: "mail", Each: true, Strategy: &sparing}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var firing, over time.Duration
			for b.Loop() {
				n += 2
				claim := f.claimFor(b, n)
				run := benchCommit(claim, n)
				for i := range run.Notices {
					run.Notices[i].Sinks = c.targets
				}
				firing += timed(func() { f.commitRun(b, claim, run) })
				claim = f.claimFor(b, n+1)
				end := commitOf(claim)
				for i := range run.Notices {
					end.Over = append(end.Over, run.Notices[i].Notice.ID)
				}
				over += timed(func() { f.commitRun(b, claim, end) })
			}
			b.ReportMetric(firing.Seconds()*1000/float64(b.N), "firing-ms")
			b.ReportMetric(over.Seconds()*1000/float64(b.N), "over-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// claimFor claims the n-th firing for as long as a benchmark takes.
func (f *fixture) claimFor(b *testing.B, n int) ledger.Claim {
	b.Helper()
	c, err := f.Claim(b.Context(), rule, scope, due(n), "a", time.Hour)
	noError(b, err)
	return c
}

func (f *fixture) commitRun(b *testing.B, c ledger.Claim, run *ledger.Commit) {
	b.Helper()
	_, err := f.Commit(b.Context(), c, run)
	noError(b, err)
}

// BenchNotice is a notice for benchmarks that fill the tables themselves.
func BenchNotice() *notice.Notice { return traced("n_old", 1) }

// BenchNow is the clock of ledgers whose tables benchmarks fill themselves: it stands still.
func BenchNow() time.Time { return start }
