package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// queueID returns the id of the queue, making it if it is new.
func queueID(ctx context.Context, tx *sql.Tx, name string) (int64, error) {
	var id int64
	found, err := one(ctx, tx, "queue", []any{name}, &id)
	if err == nil && !found {
		_, err = one(ctx, tx, "add-queue", []any{name, strings.TrimSuffix(name, ledger.TestTwin)}, &id)
	}
	return id, err
}

// findQueue returns the id of the queue, 0 = the ledger does not know it, and so has nothing of it.
func (l *Ledger) findQueue(ctx context.Context, name string) (int64, error) {
	var id int64
	if _, err := one(ctx, l.read, "queue", []any{name}, &id); err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	return id, nil
}

// QueuePause implements ledger.ItemRecords.
func (l *Ledger) QueuePause(ctx context.Context, queue string) (item.Pause, error) {
	var p item.Pause
	var at int64
	if _, err := one(ctx, l.read, "queue-pause", []any{queue}, &p.Paused, &p.By, &at); err != nil {
		return item.Pause{}, fmt.Errorf("ledger: %w", err)
	}
	p.At = rows.Time(at)
	return p, nil
}

// SetQueuePause implements ledger.ItemRecords.
func (l *Ledger) SetQueuePause(ctx context.Context, o *item.Order, queue string, p item.Pause) error {
	p.By = rows.Text(p.By)
	return l.change(ctx, "set queue pause", ledger.Author{By: o.By, Via: ledger.Via(o.Via)}, func(tx *sql.Tx) (*ledger.Change, error) {
		id, err := queueID(ctx, tx, queue)
		if err != nil {
			return nil, err
		}
		var before item.Pause
		var at int64
		if _, err := one(ctx, tx, "queue-pause", []any{queue}, &before.Paused, &before.By, &at); err != nil {
			return nil, err
		}
		before.At = rows.Time(at)
		if _, err := exec(ctx, tx, "set-queue-pause", id, p.Paused, p.By, rows.Micros(p.At)); err != nil {
			return nil, err
		}
		return record.QueuePaused(queue, before, p), nil
	})
}
