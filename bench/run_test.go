package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"tallyman/internal/testenv"
)

// run is one contender in one cell, on empty servers.
type run struct {
	t testing.TB
	s *servers
	k contender
	c cell
	q queue

	pushed atomic.Int64  // jobs pushed so far, and so the number of the next job
	acked  atomic.Int64  // jobs acked so far
	moved  chan struct{} // has an entry if a job was acked since finish looked last
	room   chan struct{} // has an entry for every batch that the pushers are ahead; nil = no limit
}

// sample is the result of a run: jobs per second, and seconds of processor time per million jobs.
type sample struct {
	rate float64
	cpu  usage
}

const (
	loadBatch   = 500         // jobs in one call while a backlog is made
	loadPushers = 8           // goroutines that make a backlog
	runDeadline = time.Minute // a contender that stands still fails the benchmark
)

// measure takes a contender through one of the scenarios.
func measure(t testing.TB, s *servers, k contender, c cell, scenario func(context.Context, *run) sample) sample {
	t.Helper()
	s.clear(t)
	ctx, cancel := context.WithTimeout(t.Context(), runDeadline)
	defer cancel()
	r := &run{t: t, s: s, k: k, c: c, q: k.open(t, s), moved: make(chan struct{}, 1)}
	defer r.q.close()
	return scenario(ctx, r)
}

// timed measures the work of do. do returns the number of jobs.
func (r *run) timed(ctx context.Context, do func() int64) sample {
	r.t.Helper()
	before := r.s.usage(ctx, r.t)
	before.client = clientCPU(r.t)
	began := time.Now()
	jobs := do()
	took, client := time.Since(began), clientCPU(r.t)
	after := r.s.usage(ctx, r.t)
	after.client = client
	return sample{rate: float64(jobs) / took.Seconds(), cpu: after.since(before, jobs)}
}

// push lets that many goroutines push batches while more returns true.
func (r *run) push(ctx context.Context, pushers, batch int, more func() bool) {
	r.t.Helper()
	group, ctx := errgroup.WithContext(ctx)
	for range pushers {
		group.Go(func() error {
			for more() {
				if err := r.pushOne(ctx, batch); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		r.t.Fatal(r.k.name, "push:", err)
	}
}

func (r *run) pushOne(ctx context.Context, batch int) error {
	if r.room != nil {
		select {
		case r.room <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	first := r.pushed.Add(int64(batch)) - int64(batch)
	return r.q.push(ctx, jobs(int(first), batch))
}

// load makes a backlog of at least n jobs.
func (r *run) load(ctx context.Context, n int) {
	r.t.Helper()
	r.push(ctx, loadPushers, loadBatch, func() bool { return r.pushed.Load() < int64(n) })
}

// start begins to work.
func (r *run) start(ctx context.Context, taken func(payload []byte)) {
	r.t.Helper()
	if err := r.q.start(ctx, r.c, taken, r.ack); err != nil {
		r.t.Fatal(r.k.name, "start:", err)
	}
}

func (r *run) ack(n int) {
	total, batch := r.acked.Add(int64(n)), int64(r.c.batch)
	if r.room != nil {
		for range total/batch - (total-int64(n))/batch {
			<-r.room
		}
	}
	select {
	case r.moved <- struct{}{}:
	default:
	}
}

// finish waits until every pushed job is acked, and until nothing is left to do for the acked jobs.
func (r *run) finish(ctx context.Context) {
	r.t.Helper()
	for r.acked.Load() < r.pushed.Load() {
		select {
		case <-r.moved:
		case <-ctx.Done():
			r.t.Fatalf("%s with %+v: %d of %d jobs acked", r.k.name, r.c, r.acked.Load(), r.pushed.Load())
		}
	}
	if err := r.q.settle(ctx); err != nil {
		r.t.Fatal(r.k.name, "settle:", err)
	}
}

func TestMain(m *testing.M) { testenv.Main(m) }

// cells returns the ways in which the queues are used.
func cells() []cell {
	return []cell{{1, 1}, {1, 8}, {1, 10}, {1, 64}, {10, 1}, {10, 8}, {10, 64}, {100, 1}, {100, 8}, {100, 64}}
}

// BenchmarkPush measures how fast jobs come in while no worker takes any.
func BenchmarkPush(b *testing.B) {
	compare(b, "push", pushing,
		lists(), asynqOne(), asynqUnique(), viaRiver(), tallyman(), tallymanKeyed(), withLedger())
}

// BenchmarkWork measures how fast a backlog over all levels is taken and acked while no job comes in.
func BenchmarkWork(b *testing.B) {
	compare(b, "lease + ack", working,
		lists(), asynqOne(), asynqMany(), viaRiver(), tallyman(), withLedger())
}

// BenchmarkFlow measures how fast jobs go all the way, with as many pushers as workers.
func BenchmarkFlow(b *testing.B) {
	compare(b, "push + lease + ack", flowing,
		lists(), asynqOne(), asynqMany(), asynqUnique(), viaRiver(), tallyman(), tallymanKeyed(), withLedger(), withoutTrace())
}

// compare takes all contenders through a scenario in every cell, and prints the tables. An iteration is a round.
func compare(b *testing.B, title string, scenario func(context.Context, *run) sample, list ...contender) {
	b.Helper()
	s := newServers(b)
	res := newResults(list)
	for _, c := range cells() {
		b.Run(fmt.Sprintf("batch=%d/workers=%d", c.batch, c.workers), func(b *testing.B) {
			for round := 0; b.Loop(); round++ {
				for i := range list {
					k := list[(round+i)%len(list)] // No contender always comes first.
					res.add(c, k.name, measure(b, s, k, c, scenario))
				}
			}
			b.ReportMetric(0, "ns/op")
			for _, r := range ratios() {
				if x, ok := res.ratio(c, r); ok {
					b.ReportMetric(x, r.unit)
				}
			}
		})
	}
	res.print(title)
}

const (
	pushWindow = 400 * time.Millisecond
	flowWindow = time.Second
)

// pushing measures how fast jobs come in while no worker takes any.
func pushing(ctx context.Context, r *run) sample {
	return r.timed(ctx, func() int64 {
		r.push(ctx, r.c.workers, r.c.batch, during(pushWindow))
		return r.pushed.Load()
	})
}

// working measures how fast a backlog over all levels is taken and acked while no job comes in.
func working(ctx context.Context, r *run) sample {
	r.load(ctx, r.k.backlog(r.c))
	return r.timed(ctx, func() int64 {
		r.start(ctx, ignore)
		r.finish(ctx)
		return r.acked.Load()
	})
}

// flowing measures how fast jobs go all the way, with as many pushers as workers. The pushers stay a little ahead.
func flowing(ctx context.Context, r *run) sample {
	r.room = make(chan struct{}, max(1, r.k.ahead(r.c)/r.c.batch))
	return r.timed(ctx, func() int64 {
		r.start(ctx, ignore)
		r.push(ctx, r.c.workers, r.c.batch, during(flowWindow))
		r.finish(ctx)
		return r.acked.Load()
	})
}

// steady returns how many jobs the pushers may be ahead. The queue then does not run empty, and the backlog stays
// short.
func steady(c cell) int { return 1000 + 2*c.workers*c.batch }

// during returns a function that returns true until the time is over.
func during(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return func() bool { return time.Now().Before(end) }
}

func ignore([]byte) {}
