package queue

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

const (
	benchItems   = 20_000
	benchPayload = 300 // bytes
)

// BenchmarkQueue pushes items, then leases and acks them, on Redis alone: in batches and with workers as the names say, beside the
// least that a queue of plain commands does: LPUSH, and BRPOP (for batches RPOP with a count) that forgets what it gave away. All on one server, in turns.
func BenchmarkQueue(b *testing.B) {
	for _, workers := range []int{1, 10, 64} {
		for _, batch := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("batch=%d/workers=%d", batch, workers), func(b *testing.B) {
				w := newQueueBench(b, batch, workers)
				var push, work, floorPush, floorWork, size []float64
				for b.Loop() {
					push = append(push, w.rate(w.push))
					size = append(size, w.used()/float64(w.items)-benchPayload)
					work = append(work, w.rate(w.work))
					floorPush = append(floorPush, w.rate(w.plainPush))
					floorWork = append(floorWork, w.rate(w.plainPop))
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(median(push), "pushes/s")
				b.ReportMetric(median(work), "lease+acks/s")
				b.ReportMetric(median(push)/median(floorPush), "x-lpush")
				b.ReportMetric(median(work)/median(floorWork), "x-brpop")
				b.ReportMetric(median(size), "B/waiting-item")
			})
		}
	}
}

type queueBench struct {
	b              *testing.B
	n              *node
	batch, workers int
	items          int
	payload        []byte
	empty          float64 // what the server uses without items
}

func newQueueBench(b *testing.B, batch, workers int) *queueBench {
	b.Helper()
	n := newNode(b, testenv.Redis(b).Addr, nil)
	w := &queueBench{b: b, n: n, batch: batch, workers: workers, items: benchItems}
	if batch == 1 {
		w.items /= 4
	}
	w.payload = []byte(`"` + strings.Repeat("x", benchPayload-2) + `"`)
	w.empty = w.used()
	return w
}

func (w *queueBench) used() float64 {
	info, err := w.n.client.InfoMap(w.b.Context(), "memory").Result()
	if err != nil {
		w.b.Fatal(err)
	}
	used, err := strconv.ParseFloat(info["Memory"]["used_memory_dataset"], 64)
	if err != nil {
		w.b.Fatal(err)
	}
	return used - w.empty
}

// rate has all workers do batches until all items are done, and returns items per second.
func (w *queueBench) rate(do func(ctx context.Context, worker int) error) float64 {
	rounds := make(chan struct{}, w.items/w.batch)
	for range cap(rounds) {
		rounds <- struct{}{}
	}
	close(rounds)
	began := time.Now()
	var wg sync.WaitGroup
	for worker := range w.workers {
		wg.Go(func() {
			for range rounds {
				if err := do(w.b.Context(), worker); err != nil {
					w.b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(w.items) / time.Since(began).Seconds()
}

func (w *queueBench) push(ctx context.Context, _ int) error {
	items := make([]item.New, w.batch)
	for i := range items {
		items[i] = item.New{Priority: 1 + i%5, Payload: w.payload}
	}
	_, err := w.n.Push(ctx, false, "bench", items)
	return err
}

// work leases a batch and acks it, in two calls. A worker that acks with its next lease has one.
func (w *queueBench) work(ctx context.Context, worker int) error {
	name := "w" + strconv.Itoa(worker)
	out, err := w.n.Step(ctx, item.Step{Caller: item.Caller{Worker: name}, Max: w.batch})
	if err != nil {
		return err
	}
	ops := make([]item.Op, len(out.Items))
	for i, l := range out.Items {
		ops[i] = item.Op{Kind: item.Ack, ID: l.ID, Attempt: l.Attempt}
	}
	out, err = w.n.Step(ctx, item.Step{Caller: item.Caller{Worker: name}, Ops: ops})
	if err == nil && slices.ContainsFunc(out.Results, func(r item.Result) bool { return r.Outcome != item.OK }) {
		err = fmt.Errorf("acks came out as %+v", out.Results)
	}
	return err
}

func (w *queueBench) plainPush(ctx context.Context, _ int) error {
	values := make([]any, w.batch)
	for i := range values {
		values[i] = w.payload
	}
	return w.n.client.LPush(ctx, "plain", values...).Err()
}

func (w *queueBench) plainPop(ctx context.Context, _ int) error {
	if w.batch == 1 {
		return w.n.client.BRPop(ctx, time.Second, "plain").Err()
	}
	_, err := w.n.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.RPopCount(ctx, "plain", w.batch)
		return nil
	})
	return err
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// BenchmarkLargeStep puts 1,000 items off in one step: those of 64 KB, and those whose payloads are the largest that do not lie apart.
func BenchmarkLargeStep(b *testing.B) {
	for _, size := range []int{benchPayload, largePayload - 1, item.MaxPayload} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			keepOnly := func(q *Queue, ctx context.Context) { q.keeper.Run(ctx) }
			n := newNodeThat(b, keepOnly, testenv.Redis(b).Addr, nil)
			payload := []byte(`"` + strings.Repeat("x", size-2) + `"`)
			items := make([]item.New, item.MaxBatch)
			store, remove := make([]item.Op, item.MaxBatch), make([]item.Op, item.MaxBatch)
			for i := range items {
				items[i] = item.New{ID: fmt.Sprintf("i%d", i), Payload: payload}
				store[i] = item.Op{Kind: item.Store, ID: items[i].ID, Delay: time.Hour}
				remove[i] = item.Op{Kind: item.Remove, ID: items[i].ID}
			}
			for b.Loop() {
				b.StopTimer()
				n.mustPush(b, items...)
				b.StartTimer()
				n.mustStep(b, item.Step{By: "bench", Ops: store})
				b.StopTimer()
				n.mustStep(b, item.Step{By: "bench", Ops: remove})
				b.StartTimer()
			}
		})
	}
}
