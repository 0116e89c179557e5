package bench

import (
	"context"
	"time"
)

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
