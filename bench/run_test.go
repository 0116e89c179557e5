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

	pushed atomic.Int64  // jobs so far, and so the number of the next
	acked  atomic.Int64  // jobs
	moved  chan struct{} // something was acked since one looked
	room   chan struct{} // has an entry for every batch that the pushers are ahead; nil = they may be ahead as they like
}

// sample is what a run gave: jobs per second, and seconds of processor time per million jobs.
type sample struct {
	rate float64
	cpu  usage
}

const (
	loadBatch   = 500         // and loadPushers: how a backlog is laid
	loadPushers = 8           //
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

// timed measures what do does; it returns the number of jobs.
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

// push has so many goroutines push batches for as long as more agrees.
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

// load lays a backlog of at least so many jobs.
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

// finish waits until everything that was pushed is acked, and nothing more is to be done for it.
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

// cells are how the queues are used: how many in one call, from how many goroutines.
func cells() []cell {
	return []cell{{1, 1}, {1, 8}, {1, 10}, {1, 64}, {10, 1}, {10, 8}, {10, 64}, {100, 1}, {100, 8}, {100, 64}}
}

// BenchmarkPush has jobs come in while nobody takes any.
func BenchmarkPush(b *testing.B) {
	compare(b, "push", pushing,
		lists(), asynqOne(), asynqUnique(), viaRiver(), tallyman(), tallymanKeyed(), withLedger())
}

// BenchmarkWork has a backlog over all levels taken and acked while nothing comes in.
func BenchmarkWork(b *testing.B) {
	compare(b, "lease + ack", working,
		lists(), asynqOne(), asynqMany(), viaRiver(), tallyman(), withLedger())
}

// BenchmarkFlow has as many push as work.
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
					k := list[(round+i)%len(list)] // nobody always comes first
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

// pushing is how fast jobs come in while nobody takes any.
func pushing(ctx context.Context, r *run) sample {
	return r.timed(ctx, func() int64 {
		r.push(ctx, r.c.workers, r.c.batch, during(pushWindow))
		return r.pushed.Load()
	})
}

// working is how fast a backlog over all levels is taken and acked while nothing comes in.
func working(ctx context.Context, r *run) sample {
	r.load(ctx, r.k.backlog(r.c))
	return r.timed(ctx, func() int64 {
		r.start(ctx, ignore)
		r.finish(ctx)
		return r.acked.Load()
	})
}

// flowing is how fast jobs go all the way while as many push as work. The pushers stay a little ahead of the workers.
func flowing(ctx context.Context, r *run) sample {
	r.room = make(chan struct{}, max(1, r.k.ahead(r.c)/r.c.batch))
	return r.timed(ctx, func() int64 {
		r.start(ctx, ignore)
		r.push(ctx, r.c.workers, r.c.batch, during(flowWindow))
		r.finish(ctx)
		return r.acked.Load()
	})
}

// steady keeps the queue from running empty and the backlog short.
func steady(c cell) int { return 1000 + 2*c.workers*c.batch }

// during agrees for so long.
func during(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return func() bool { return time.Now().Before(end) }
}

func ignore([]byte) {}
