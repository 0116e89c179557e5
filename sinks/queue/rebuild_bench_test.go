package queue

import (
	"testing"
	"time"

	"tallyman/internal/testenv"
)

// BenchmarkRebuild writes 100,000 ready items of 300 bytes back into an empty Redis.
func BenchmarkRebuild(b *testing.B) {
	b.Run("memory", func(b *testing.B) { benchmarkRebuild(b, newMemoryLedger()) })
	b.Run("postgres", func(b *testing.B) { benchmarkRebuild(b, postgresLedger(b)) })
}

func benchmarkRebuild(b *testing.B, ledger Ledger) {
	b.Helper()
	r := testenv.Redis(b)
	record(b, ledger, rebuilt)
	n := newNode(b, r.Addr, ledger, func(o *Options) { o.Logger = nil })
	began := time.Now()
	for b.Loop() {
		g, changed := n.keeper.Current()
		if err := n.client.FlushAll(b.Context()).Err(); err != nil {
			b.Fatal(err)
		}
		n.keeper.CheckNow()
		<-changed
		if _, err := n.keeper.Await(b.Context(), time.Now().Add(time.Minute)); err != nil || n.keeper.Is(g) {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rebuilt*b.N)/time.Since(began).Seconds(), "items/s")
}
