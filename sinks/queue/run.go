package queue

import (
	"context"
	"fmt"
	"sync"

	"tallyman/sinks/recovery"
)

// live gives the queue what keeps it going.
func (q *Queue) live() error {
	k := q.lines[0].keys
	o := recovery.Options{
		Client: q.o.Client, Watch: q.o.Watch, Contents: contents{q}, Node: q.o.Node, Sink: q.o.Name,
		EpochKey: k.epoch(), Channel: k.hints(), Logger: q.log,
	}
	if q.o.Ledger != nil {
		o.Ledger, o.Salvage = q.o.Ledger, q.salvage
	}
	var err error
	if q.keeper, err = recovery.New(o); err != nil || q.o.Ledger == nil {
		return err
	}
	for i, l := range q.lines {
		log := q.log.With("test", l.test)
		q.drainers[i] = newDrainer(l, q.life, q.keeper, log)
		q.sweepers[i] = newSweeper(q, l, q.drainers[i], log)
	}
	return nil
}

// Run keeps the queue and its twin going until the context ends: it checks that Redis is still what it was and writes the queue
// back if not, does what is due, takes what has moved into the ledger, looks for what got lost on the way, and listens for hints. What goes
// wrong is logged and tried again. What has moved before the context ends is in the ledger when Run returns, unless that
// takes longer than 3 s; calls under way whose callers have left are over, too.
func (q *Queue) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { q.keeper.Run(ctx) })
	wg.Go(func() { q.listen(ctx) })
	for _, l := range q.lines {
		wg.Go(func() { q.promote(ctx, l) })
	}
	for i, d := range q.drainers {
		if d != nil {
			wg.Go(func() { d.run(ctx) })
			wg.Go(func() { q.sweepers[i].run(ctx) })
		}
	}
	wg.Wait()
	for _, l := range q.lines {
		l.commits.rest()
		l.enqueues.rest()
		l.steps.rest()
	}
	for _, d := range q.drainers {
		if d != nil {
			wg.Go(func() { d.finish(ctx) })
		}
	}
	wg.Wait()
}

// Ready returns nil while the queue serves, otherwise the reason why it does not.
func (q *Queue) Ready() error {
	if err := q.keeper.Ready(); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	return nil
}

// Check asks Redis what a site must not leave to chance, before anything is served. The error is recovery.ErrEvicts, or that Redis
// is out of reach.
func (q *Queue) Check(ctx context.Context) error { return q.keeper.Check(ctx) }
