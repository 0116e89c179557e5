package queue

import (
	"context"
	"time"
)

const promoteEvery = time.Second

// promote takes back leases that have ended and makes ready what is due, a second late at most, until the context ends. Steps do
// that too, and sooner; but while no worker asks, those who look would be told of leases and waits that are long over.
func (q *Queue) promote(ctx context.Context, l *line) {
	tick := time.NewTicker(promoteEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		g, _ := q.keeper.Current()
		if g == nil {
			continue
		}
		if err := q.lost(g, l.promoteOnce(ctx, g.Epoch)); err != nil && ctx.Err() == nil {
			l.log.Debug("what is due waits for the next step", "error", err)
		}
	}
}

// promoteOnce is a step of nobody: it does nothing but what is due.
func (l *line) promoteOnce(ctx context.Context, epoch string) error {
	_, err := l.run(ctx, l.scripts.step, l.all, epoch, l.now(), l.keys.hints(), l.hint(), l.node(), l.o.MaxAttempts, l.suspendSteps,
		maxBacklog, 0, 0, "")
	return err
}
