package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

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
	err = l.change(ctx, "put subscriber", who, func(tx pgx.Tx) (*ledger.Change, error) {
		before, err := one(ctx, tx, "subscribers", scanSubscriber, []string{s.ID})
		if err != nil {
			return nil, err
		}
		added = before == nil
		_, err = tx.Exec(ctx, queries.Get("put-subscriber"), rows.SubscriberArgs(&s)...)
		return record.SubscriberPut(before, &s), err
	})
	return added && err == nil, err
}

// DeleteSubscriber implements ledger.Book.
func (l *Ledger) DeleteSubscriber(ctx context.Context, who ledger.Author, id string) error {
	return l.change(ctx, "delete subscriber", who, func(tx pgx.Tx) (*ledger.Change, error) {
		before, err := one(ctx, tx, "subscribers", scanSubscriber, []string{id})
		if err != nil {
			return nil, err
		}
		if before == nil {
			return nil, fmt.Errorf("%w: subscriber %q", ledger.ErrNotFound, id)
		}
		_, err = tx.Exec(ctx, queries.Get("delete-subscriber"), id)
		return record.SubscriberDeleted(before), err
	})
}

// Subscribers implements ledger.Book.
func (l *Ledger) Subscribers(ctx context.Context, ids []string) (map[string]delivery.Subscriber, error) {
	list, err := query(ctx, l, "subscribers", scanSubscriber, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[string]delivery.Subscriber, len(list))
	for _, s := range list {
		found[s.ID] = s
	}
	return found, nil
}

// ListSubscribers implements ledger.Book.
func (l *Ledger) ListSubscribers(ctx context.Context, after string, limit int) ([]delivery.Subscriber, error) {
	return query(ctx, l, "list-subscribers", scanSubscriber, after, limit)
}

func scanSubscriber(r pgx.CollectableRow) (delivery.Subscriber, error) {
	var s rows.Subscriber
	if err := r.Scan(s.Columns()...); err != nil {
		return delivery.Subscriber{}, err
	}
	return s.Subscriber()
}
