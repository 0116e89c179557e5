package queue

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// BenchmarkPushToLease pushes 1,000 items a second to workers that wait, and says how long each took from the begin of its push to
// the worker.
func BenchmarkPushToLease(b *testing.B) {
	for _, workers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			n := newNode(b, testenv.Redis(b).Addr, nil)
			pushed := make([]time.Time, b.N)
			took := make([]time.Duration, b.N)
			var wg, gone sync.WaitGroup
			gone.Add(b.N)
			for w := range workers {
				wg.Go(func() {
					s := item.Step{Caller: item.Caller{Worker: fmt.Sprintf("w%d", w)}, Max: 1, Wait: MaxWait}
					for {
						out, err := n.Step(b.Context(), s)
						if err != nil {
							b.Error(err)
							return
						}
						s.Ops = s.Ops[:0]
						for _, l := range out.Items {
							var i int
							if _, err := fmt.Sscanf(l.ID, "i%d", &i); err != nil {
								return // the last one
							}
							took[i] = time.Since(pushed[i])
							gone.Done()
							s.Ops = append(s.Ops, item.Op{Kind: item.Ack, ID: l.ID, Attempt: l.Attempt})
						}
					}
				})
			}
			b.ResetTimer()
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for i := range b.N {
				<-tick.C
				pushed[i] = time.Now()
				n.mustPush(b, item.New{ID: fmt.Sprintf("i%d", i), Priority: 3, Payload: []byte(`{}`)})
			}
			gone.Wait()
			b.StopTimer()
			for w := range workers {
				n.mustPush(b, item.New{ID: fmt.Sprintf("last%d", w), Priority: 1, Payload: []byte(`{}`)})
			}
			wg.Wait()
			slices.SortFunc(took, cmp.Compare)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
