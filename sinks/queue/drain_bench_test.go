package queue

import (
	"context"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// BenchmarkDrain takes the leases and acks of 20,000 items, in batches of 100, from the outbox into the ledger.
func BenchmarkDrain(b *testing.B) {
	b.Run("memory", func(b *testing.B) { benchmarkDrain(b, newMemoryLedger()) })
	b.Run("postgres", func(b *testing.B) { benchmarkDrain(b, postgresLedger(b)) })
}

func benchmarkDrain(b *testing.B, l Ledger) {
	b.Helper()
	const items, batch = 20_000, 100
	keepOnly := func(q *Queue, ctx context.Context) { q.keeper.Run(ctx) }
	n := newNodeThat(b, keepOnly, testenv.Redis(b).Addr, l, func(o *Options) { o.Logger = nil })
	var took time.Duration
	for b.Loop() {
		b.StopTimer()
		for range items / 1000 {
			n.mustPush(b, newItems(1000, 3, "")...)
		}
		var ops []item.Op
		for leased := 0; leased < items || len(ops) > 0; {
			out := n.mustStep(b, item.Step{Caller: item.Caller{Worker: "w"}, Ops: ops, Max: batch})
			ops = ops[:0]
			for _, lease := range out.Items {
				ops = append(ops, item.Op{Kind: item.Ack, ID: lease.ID, Attempt: lease.Attempt})
			}
			leased += len(out.Items)
		}
		b.StartTimer()
		began := time.Now()
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan struct{})
		go func() { defer close(done); n.drainers[0].run(ctx) }()
		inLedger(b, n)
		took += time.Since(began)
		cancel()
		<-done
		n.drainers[0].finish(b.Context())
	}
	b.ReportMetric(float64(2*items*b.N)/took.Seconds(), "moves/s")
}
