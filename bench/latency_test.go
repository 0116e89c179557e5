package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	latencyRate    = 1000 // jobs a second, one at a time
	latencyJobs    = 6000
	latencyWarmup  = 1000 // of them that do not count
	latencyPushers = 16
)

// BenchmarkLatency measures the time from the moment at which a job is to be pushed to the moment at which a worker has it, at
// 1,000 jobs a second and 8 workers. An iteration is a round; the rounds are put together.
func BenchmarkLatency(b *testing.B) {
	s := newServers(b)
	list := []contender{lists(), asynqOne(), asynqMany(), viaRiver(), tallyman(), withLedger()}
	taken := map[string][]time.Duration{}
	cpu := map[string][]usage{}
	for round := 0; b.Loop(); round++ {
		for i := range list {
			k := list[(round+i)%len(list)]
			r := measure(b, s, k, cell{batch: 1, workers: 8}, func(ctx context.Context, r *run) sample {
				return r.timed(ctx, func() int64 {
					taken[k.name] = append(taken[k.name], arriving(ctx, r)...)
					return latencyJobs
				})
			})
			cpu[k.name] = append(cpu[k.name], r.cpu)
		}
	}
	b.ReportMetric(0, "ns/op")
	t := newTable(fmt.Sprintf("push to lease at %d jobs a second, ms; processor time per million jobs, s", latencyRate),
		"", "p50", "p99", "p99.9", "most", "Redis", "PostgreSQL", "client")
	for _, k := range list {
		times, u := taken[k.name], cpu[k.name][0]
		slices.Sort(times)
		at := func(part float64) float64 { return milliseconds(times[int(part*float64(len(times)-1))]) }
		row := []string{k.name}
		for _, part := range []float64{.5, .99, .999, 1} {
			row = append(row, fmt.Sprintf("%.2f", at(part)))
		}
		t.row(append(row, thousands(u.redis), thousands(u.postgres), thousands(u.client))...)
		b.ReportMetric(at(.99), "ms-p99:"+unit(k.name))
	}
	t.print()
}

// arriving pushes jobs at an even rate, whatever the answers take, and returns how long each was on its way.
func arriving(ctx context.Context, r *run) []time.Duration {
	began := time.Now()
	var due, got [latencyJobs]atomic.Int64 // ns since began
	r.start(ctx, func(payload []byte) { got[number(payload)].Store(int64(time.Since(began))) })
	next := make(chan int, latencyJobs)
	var failed atomic.Value
	var pushers sync.WaitGroup
	for range latencyPushers {
		pushers.Go(func() {
			for n := range next {
				if err := r.q.push(ctx, jobs(n, 1)); err != nil {
					failed.Store(err)
				}
				r.pushed.Add(1)
			}
		})
	}
	tick := time.NewTicker(time.Second / latencyRate)
	defer tick.Stop()
	for n := 0; n < latencyJobs; {
		<-tick.C
		for now := time.Since(began); n < latencyJobs && n < int(now.Seconds()*latencyRate); n++ {
			due[n].Store(int64(now))
			next <- n
		}
	}
	close(next)
	pushers.Wait()
	if err := failed.Load(); err != nil {
		r.t.Fatal(r.k.name, "push:", err)
	}
	r.finish(ctx)
	var times []time.Duration
	for n := latencyWarmup; n < latencyJobs; n++ {
		times = append(times, time.Duration(got[n].Load()-due[n].Load()))
	}
	return times
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
