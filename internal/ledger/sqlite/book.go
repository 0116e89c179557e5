package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// PutSubscriber implements ledger.Book.
func (l *Ledger) PutSubscriber(ctx context.Context, who ledger.Author, s delivery.Subscriber) (added bool, err error) {
	if err := ledger.CheckSubscriber(&s); err != nil {
		return false, err
	}
	err = l.change(ctx, "put subscriber", who, func(tx *sql.Tx) (*ledger.Change, error) {
		before, err := subscriber(ctx, tx, s.ID)
		if err != nil {
			return nil, err
		}
		added = before == nil
		_, err = exec(ctx, tx, "put-subscriber", rows.SubscriberArgs(&s)...)
		return record.SubscriberPut(before, &s), err
	})
	return added && err == nil, err
}

// subscriber is the entry of the id, nil where it has none.
func subscriber(ctx context.Context, tx *sql.Tx, id string) (*delivery.Subscriber, error) {
	var row rows.Subscriber
	if there, err := one(ctx, tx, "subscribers", []any{list([]string{id})}, row.Columns()...); err != nil || !there {
		return nil, err
	}
	s, err := row.Subscriber()
	return &s, err
}

// DeleteSubscriber implements ledger.Book.
func (l *Ledger) DeleteSubscriber(ctx context.Context, who ledger.Author, id string) error {
	return l.change(ctx, "delete subscriber", who, func(tx *sql.Tx) (*ledger.Change, error) {
		before, err := subscriber(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if before == nil {
			return nil, fmt.Errorf("%w: subscriber %q", ledger.ErrNotFound, id)
		}
		_, err = exec(ctx, tx, "delete-subscriber", id)
		return record.SubscriberDeleted(before), err
	})
}

// Subscribers implements ledger.Book.
func (l *Ledger) Subscribers(ctx context.Context, ids []string) (map[string]delivery.Subscriber, error) {
	entries, err := l.subscribers(ctx, "subscribers", list(ids))
	if err != nil {
		return nil, err
	}
	found := make(map[string]delivery.Subscriber, len(entries))
	for _, s := range entries {
		found[s.ID] = s
	}
	return found, nil
}

// ListSubscribers implements ledger.Book.
func (l *Ledger) ListSubscribers(ctx context.Context, after string, limit int) ([]delivery.Subscriber, error) {
	return l.subscribers(ctx, "list-subscribers", after, limit)
}

func (l *Ledger) subscribers(ctx context.Context, name string, args ...any) ([]delivery.Subscriber, error) {
	var out []delivery.Subscriber
	var row rows.Subscriber
	err := each(ctx, l.read, name, args, row.Columns(), func() error {
		s, err := row.Subscriber()
		out = append(out, s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return out, nil
}
