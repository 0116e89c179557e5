package queue

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/item"
)

// Pause has the queue, or its twin, give out nothing more; what is leased goes on, and items are taken in. It is in the ledger
// first, with its record, so that it outlives Redis. The order says who asks; the rest of the record is the ledger's. The errors are recovery.ErrUnavailable, the ledger's and the context's.
func (q *Queue) Pause(ctx context.Context, test bool, by string, o *item.Order) error {
	return q.setPause(ctx, q.line(test), true, by, o)
}

// Resume has the queue, or its twin, give out items again. The errors are those of Pause.
func (q *Queue) Resume(ctx context.Context, test bool, by string, o *item.Order) error {
	return q.setPause(ctx, q.line(test), false, by, o)
}

func (q *Queue) setPause(ctx context.Context, l *line, paused bool, by string, o *item.Order) error {
	p := item.Pause{Paused: paused, By: by, At: q.clock().UTC().Truncate(time.Microsecond)}
	if q.o.Ledger == nil {
		return q.tellPause(ctx, l, p)
	}
	if err := q.o.Ledger.SetQueuePause(ctx, o, l.name, p); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	// Of two that do this at once the ledger has the later one's. Whoever tells Redis last must tell that.
	for {
		if err := q.tellPause(ctx, l, p); err != nil {
			return err
		}
		last, err := q.o.Ledger.QueuePause(ctx, l.name)
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		if last.Paused == p.Paused && last.At.Equal(p.At) {
			return nil
		}
		p = last
	}
}

func (q *Queue) tellPause(ctx context.Context, l *line, p item.Pause) error {
	_, _, err := q.read(ctx, l, q.reads.pause, append([]any{l.keys.hints(), l.hint()}, pauseArgs(p)...)...)
	return err
}

// pauseArgs is a pause as the scripts take it.
func pauseArgs(p item.Pause) []any {
	paused := 0
	if p.Paused {
		paused = 1
	}
	return []any{paused, p.By, toMicro(p.At)}
}

// clock is the time for what no script decides.
func (q *Queue) clock() time.Time {
	if q.o.Now == nil {
		return time.Now()
	}
	return q.o.Now()
}
