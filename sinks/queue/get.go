package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
)

const (
	traceWait  = time.Second           // how long Get waits for what has just moved to be in the ledger
	traceEvery = 20 * time.Millisecond // how often it looks
)

// Get returns an item of the scope's warehouses with its trace, whatever has become of it. What has moved before the call is in the trace, unless the
// ledger takes longer than a second. The errors are sinks.ErrNotFound, index.ErrUnavailable, the ledger's and the context's.
func (q *Queue) Get(ctx context.Context, test bool, scope item.Scope, id string) (item.Traced, error) {
	l := q.line(test)
	answer, epoch, err := q.read(ctx, l, q.reads.get, id)
	if err != nil {
		return item.Traced{}, err
	}
	if len(answer) != 3 {
		return item.Traced{}, fmt.Errorf("%w: get.lua gave %d values", errAnswer, len(answer))
	}
	var out item.Traced
	found := answer[2] != ""
	if found {
		if out.Item, err = parseValue(id, answer[2]); err != nil {
			return item.Traced{}, err
		}
		if !scope.Has(out.Item.Warehouse) {
			return item.Traced{}, notFound(id)
		}
	}
	if q.o.Ledger == nil {
		if !found {
			err = notFound(id)
		}
		return out, err
	}
	where, err := counts(answer[:2])
	if err != nil {
		return item.Traced{}, err
	}
	if err := q.awaitMoves(ctx, l, epoch, where[0], where[1]); err != nil {
		return item.Traced{}, err
	}
	record, trace, err := q.o.Ledger.ItemTrace(ctx, l.name, id)
	if errors.Is(err, delivery.ErrNotFound) || err == nil && !scope.Has(record.Warehouse) {
		return item.Traced{}, notFound(id)
	}
	if err != nil {
		return item.Traced{}, fmt.Errorf("ledger: %w", err)
	}
	if !found {
		return item.Traced{Item: fromRecord(&record), Trace: trace}, nil
	}
	out.Trace = until(trace, out.Item.Moves)
	return out, nil
}

func notFound(id string) error { return fmt.Errorf("queue: item %s: %w", id, delivery.ErrNotFound) }

// until cuts off what moved after the item was read, so that the trace ends with the state that is shown.
func until(trace []item.Move, moves int64) []item.Move {
	for len(trace) > 1 && trace[len(trace)-1].N > moves {
		trace = trace[:len(trace)-1]
	}
	return trace
}

// settle waits until what has moved by now is in the ledger, for a while. Without Redis there is nothing to wait for: what the
// ledger has is told.
func (q *Queue) settle(ctx context.Context, l *line) error {
	if g, _ := q.keeper.Current(); g == nil {
		return nil
	}
	answer, epoch, err := q.read(ctx, l, q.reads.get, "")
	if err != nil {
		return ctx.Err()
	}
	where, err := counts(answer[:2])
	if err != nil {
		return err
	}
	return q.awaitMoves(ctx, l, epoch, where[0], where[1])
}

// awaitMoves waits until what had moved is in the ledger, for a while.
func (q *Queue) awaitMoves(ctx context.Context, l *line, epoch string, moved, drained int64) error {
	tick := time.NewTicker(traceEvery)
	defer tick.Stop()
	over := time.NewTimer(traceWait)
	defer over.Stop()
	for drained < moved {
		applied, err := q.o.Ledger.AppliedMoves(ctx, l.name, epoch)
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		if applied >= moved {
			return nil
		}
		select {
		case <-tick.C:
		case <-over.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
