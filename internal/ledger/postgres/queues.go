package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// queueID returns the id of the queue, making it if it is new.
func (l *Ledger) queueID(ctx context.Context, name string) (int32, error) {
	id, err := l.findQueue(ctx, name)
	if !errors.Is(err, ledger.ErrNotFound) {
		return id, err
	}
	if _, err := l.exec(ctx, "add-queue", name, strings.TrimSuffix(name, ledger.TestTwin)); err != nil {
		return 0, err
	}
	return l.findQueue(ctx, name)
}

// findQueue returns the id of the queue, which it remembers. ErrNotFound.
func (l *Ledger) findQueue(ctx context.Context, name string) (int32, error) {
	l.mu.Lock()
	id, ok := l.queues[name]
	l.mu.Unlock()
	if ok {
		return id, nil
	}
	err := l.pool.QueryRow(ctx, queries.Get("queue"), name).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, ledger.ErrNotFound
	}
	if err != nil {
		return 0, failed("queue", err)
	}
	l.mu.Lock()
	l.queues[name] = id
	l.mu.Unlock()
	return id, nil
}

// noQueue turns ErrNotFound into nothing: a queue that the ledger does not know has nothing.
func noQueue(err error) error {
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	return err
}

// QueuePause implements ledger.ItemRecords.
func (l *Ledger) QueuePause(ctx context.Context, queue string) (item.Pause, error) {
	id, err := l.findQueue(ctx, queue)
	if err != nil {
		return item.Pause{}, noQueue(err)
	}
	var p item.Pause
	var at int64
	if err := l.pool.QueryRow(ctx, queries.Get("queue-pause"), id).Scan(&p.Paused, &p.By, &at); err != nil {
		return item.Pause{}, failed("queue pause", err)
	}
	p.At = rows.Time(at)
	return p, nil
}

// SetQueuePause implements ledger.ItemRecords.
func (l *Ledger) SetQueuePause(ctx context.Context, o *item.Order, queue string, p item.Pause) error {
	id, err := l.queueID(ctx, queue)
	if err != nil {
		return err
	}
	p.By = rows.Text(p.By)
	return l.change(ctx, "set queue pause", ledger.Author{By: o.By, Via: ledger.Via(o.Via)}, func(tx pgx.Tx) (*ledger.Change, error) {
		var before item.Pause
		var at int64
		if err := tx.QueryRow(ctx, queries.Get("queue-pause"), id).Scan(&before.Paused, &before.By, &at); err != nil {
			return nil, err
		}
		before.At = rows.Time(at)
		if _, err := tx.Exec(ctx, queries.Get("set-queue-pause"), id, p.Paused, p.By, rows.Micros(p.At)); err != nil {
			return nil, err
		}
		return record.QueuePaused(queue, before, p), nil
	})
}
