package inbox

import (
	"sync"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/sinks/inbox/page"
)

// BenchmarkIdlePoll asks for the version as 200 clients with nothing new do, beside 200 that make one GET each, in turns.
func BenchmarkIdlePoll(b *testing.B) {
	n := newNode(b, testenv.Redis(b).Addr, newMemoryLedger())
	n.deliver(b, makeDeliveries(10, wh, "user:1", "role:k"))
	q := query("user:1", "role:k")
	q.After = n.poll(b, q).Cursor
	if err := n.client.Set(b.Context(), "plain", "value", 0).Err(); err != nil {
		b.Fatal(err)
	}
	var ours, plain []float64
	for b.Loop() {
		ours = append(ours, rateOf(b, func() error { return n.version(b, q) }))
		plain = append(plain, rateOf(b, func() error { return n.client.Get(b.Context(), "plain").Err() }))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ours), "versions/s")
	b.ReportMetric(median(plain), "GETs/s")
	b.ReportMetric(median(ours)/median(plain), "of-GET")
}

func (n *node) version(t testing.TB, q page.Query) error {
	t.Helper()
	_, err := n.Version(t.Context(), q)
	return err
}

func rateOf(b *testing.B, ask func() error) float64 {
	b.Helper()
	const clients, each = 200, 100
	var wg sync.WaitGroup
	began := time.Now()
	for range clients {
		wg.Go(func() {
			for range each {
				if err := ask(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return clients * each / time.Since(began).Seconds()
}
