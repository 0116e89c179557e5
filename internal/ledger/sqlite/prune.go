package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"tallyman/internal/ledger/rows"
)

// pruneItems removes the items that have ended before, queue by queue. Items lie about in the order in which they were
// created: where a page has none that is old, there are hardly any behind it.
func (l *Ledger) pruneItems(ctx context.Context, before time.Time) (int64, error) {
	var text string
	var queues []int64
	if _, err := one(ctx, l.read, "queue-ids", nil, &text); err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	if err := json.Unmarshal([]byte(text), &queues); err != nil {
		return 0, failed("queue-ids", err)
	}
	var removed int64
	for _, id := range queues {
		p := itemPage{queue: id, more: true}
		for p.more {
			if err := l.inTx(ctx, "prune", func(tx *sql.Tx) error { return p.prune(ctx, tx, rows.Micros(before), l.clock()) }); err != nil {
				return removed, err
			}
			removed += p.gone
		}
	}
	return removed, nil
}

// itemPage walks over the items of a queue, a page at a time.
type itemPage struct {
	queue, after int64
	gone         int64 // of the page
	more         bool  // it had an item that is old
}

func (p *itemPage) prune(ctx context.Context, tx *sql.Tx, before, now int64) error {
	var may []int64
	var seq int64
	var old, ended bool
	p.more = false
	err := each(ctx, tx, "old-items", []any{p.queue, p.after, pruneBatch, before, now}, []any{&seq, &old, &ended}, func() error {
		p.after = seq
		p.more = p.more || old
		if ended {
			may = append(may, seq)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := exec(ctx, tx, "prune-item-moves", list(may)); err != nil {
		return err
	}
	if _, err := exec(ctx, tx, "prune-ended-early", p.queue, list(may)); err != nil {
		return err
	}
	p.gone, err = exec(ctx, tx, "prune-items", list(may))
	return err
}
