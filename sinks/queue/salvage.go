package queue

import (
	"context"
	"fmt"
	"time"
)

// readOnly has drain.lua read, whoever drains.
const readOnly = -time.Microsecond

// salvage records what the outboxes still have of an epoch that is about to end. A Redis that was restarted or replaced may
// have kept them, and what workers have done need not be done again. Whoever else drains or salvages at the same time does
// no harm: the ledger takes each entry once, and none when the epoch has ended.
func (q *Queue) salvage(ctx context.Context, epoch string) error {
	for _, d := range q.drainers {
		if err := d.salvage(ctx, epoch); err != nil {
			return fmt.Errorf("queue %s: %w", d.line.name, err)
		}
	}
	return nil
}

func (d *drainer) salvage(ctx context.Context, epoch string) error {
	l := d.line
	after, err := l.o.Ledger.AppliedMoves(ctx, l.name, epoch)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	for {
		t, err := d.ask(ctx, epoch, readOnly, 0, after, drainEntries)
		if epochIsOver(err) { // nothing is left of it
			return nil
		}
		if err != nil || len(t.page) == 0 {
			return err
		}
		if err := l.o.Ledger.ApplyMoves(ctx, l.name, epoch, t.page); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		after = t.page[len(t.page)-1].Position
	}
}
