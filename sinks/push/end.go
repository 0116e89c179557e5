package push

import (
	"context"
	"time"
)

const (
	endEvery = time.Second
	mostEnd  = 1000 // in one transaction
)

// endLate ends what is past its deadline or whose notice has expired, once a second, whether the sink is held back or not.
func (r *Runner) endLate(ctx context.Context) {
	tick := time.NewTicker(endEvery)
	defer tick.Stop()
	failing := false
	for {
		err := r.endAll(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			r.o.Logger.Warn("deliveries that are too late cannot be ended", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *Runner) endAll(ctx context.Context) error {
	for {
		timedOut, canceled, err := r.endSome(ctx)
		if err != nil {
			return err
		}
		if timedOut > 0 {
			r.o.Observer.DeliveryDone(r.o.Sink, OutcomeTimedOut, timedOut)
		}
		if canceled > 0 {
			r.o.Observer.DeliveryDone(r.o.Sink, OutcomeCanceled, canceled)
		}
		if timedOut+canceled > 0 {
			r.Wake() // the next of their findings may be due
		}
		if timedOut+canceled < mostEnd {
			return nil
		}
	}
}

func (r *Runner) endSome(ctx context.Context) (timedOut, canceled int, err error) {
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	return r.o.Ledger.EndPushes(ctx, r.o.Sink, mostEnd)
}
