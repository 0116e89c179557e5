package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
	"tallyman/sinks"
)

// PutSubscriber implements ledger.Book.
func (l *Ledger) PutSubscriber(ctx context.Context, s sinks.Subscriber) (added bool, err error) {
	if err := ledger.CheckSubscriber(&s); err != nil {
		return false, err
	}
	err = l.inTx(ctx, "put subscriber", func(tx *sql.Tx) error {
		var found int
		there, err := one(ctx, tx, "has-subscriber", []any{s.ID}, &found)
		if err != nil {
			return err
		}
		added = !there
		_, err = exec(ctx, tx, "put-subscriber", rows.SubscriberArgs(&s)...)
		return err
	})
	return added, err
}

// DeleteSubscriber implements ledger.Book.
func (l *Ledger) DeleteSubscriber(ctx context.Context, id string) error {
	n, err := l.exec(ctx, "delete-subscriber", id)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: subscriber %q", ledger.ErrNotFound, id)
	}
	return err
}

// Subscribers implements ledger.Book.
func (l *Ledger) Subscribers(ctx context.Context, ids []string) (map[string]sinks.Subscriber, error) {
	entries, err := l.subscribers(ctx, "subscribers", list(ids))
	if err != nil {
		return nil, err
	}
	found := make(map[string]sinks.Subscriber, len(entries))
	for _, s := range entries {
		found[s.ID] = s
	}
	return found, nil
}

// ListSubscribers implements ledger.Book.
func (l *Ledger) ListSubscribers(ctx context.Context, after string, limit int) ([]sinks.Subscriber, error) {
	return l.subscribers(ctx, "list-subscribers", after, limit)
}

func (l *Ledger) subscribers(ctx context.Context, name string, args ...any) ([]sinks.Subscriber, error) {
	var out []sinks.Subscriber
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
