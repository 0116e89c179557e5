package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/ledger"
)

// BenchmarkLookBack reads a memory of 100,000 rows, and commits runs without new rows and runs with a hundred new
// rows.
func BenchmarkLookBack(b *testing.B, l ledger.Ledger) {
	b.Helper()
	f := (&base{Ledger: l, clock: newClock(time.Now())}).fixture()
	f.register(b)
	const portions, rows = 10, 10_000
	change := &ledger.LookBackChange{From: mark(0), At: start}
	for n := range int64(portions) {
		change.Add = append(change.Add, portionOf(n+1, n+1, rows))
	}
	f.looksBack(b, 1, change)
	var reading, plain, remembering time.Duration
	n := 1
	for b.Loop() {
		reading += timed(func() {
			back, err := l.LookBack(b.Context(), rule, scope)
			noError(b, err)
			if back.Rows() < (portions-1)*rows {
				b.Fatal(back.Rows())
			}
		})
		n++
		plain += f.timedCommit(b, n, nil)
		n++
		at := int64(portions + n)
		remembering += f.timedCommit(b, n, &ledger.LookBackChange{From: mark(at), At: start, Add: []ledger.SeenRows{portionOf(at, at, 100)}})
	}
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) / 1000 }
	b.ReportMetric(per(reading), "ms/read")
	b.ReportMetric(per(plain), "ms/commit")
	b.ReportMetric(per(remembering), "ms/commit-with-rows")
	b.ReportMetric(0, "ns/op")
}

// timedCommit commits a firing and returns how long the commit took.
func (f *base) timedCommit(b *testing.B, n int, change *ledger.LookBackChange) time.Duration {
	b.Helper()
	c, err := f.Claim(b.Context(), rule, scope, 0, due(n), "a", time.Hour)
	noError(b, err)
	run := commitOf(c)
	run.LookBack = change
	return timed(func() {
		_, err := f.Commit(b.Context(), c, run)
		noError(b, err)
	})
}
