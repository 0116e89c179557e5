package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
	"tallyman/sinks"
)

// PutSubscriber implements ledger.Book.
func (l *Ledger) PutSubscriber(ctx context.Context, s sinks.Subscriber) (added bool, err error) {
	if err := ledger.CheckSubscriber(&s); err != nil {
		return false, err
	}
	if err := l.pool.QueryRow(ctx, queries.Get("put-subscriber"), rows.SubscriberArgs(&s)...).Scan(&added); err != nil {
		return false, failed("put subscriber", err)
	}
	return added, nil
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
	list, err := query(ctx, l, "subscribers", scanSubscriber, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[string]sinks.Subscriber, len(list))
	for _, s := range list {
		found[s.ID] = s
	}
	return found, nil
}

// ListSubscribers implements ledger.Book.
func (l *Ledger) ListSubscribers(ctx context.Context, after string, limit int) ([]sinks.Subscriber, error) {
	return query(ctx, l, "list-subscribers", scanSubscriber, after, limit)
}

func scanSubscriber(r pgx.CollectableRow) (sinks.Subscriber, error) {
	var s rows.Subscriber
	if err := r.Scan(s.Columns()...); err != nil {
		return sinks.Subscriber{}, err
	}
	return s.Subscriber()
}
