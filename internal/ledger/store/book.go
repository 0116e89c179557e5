package store

import (
	"context"
	"fmt"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// PutSubscriber implements ledger.Book.
func (s *Store) PutSubscriber(ctx context.Context, who ledger.Author, entry delivery.Subscriber) (added bool, err error) {
	if err := ledger.CheckSubscriber(&entry); err != nil {
		return false, err
	}
	err = s.change(ctx, "put subscriber", who, func(tx Conn) (*ledger.Change, error) {
		before, err := subscriber(ctx, tx, entry.ID)
		if err != nil {
			return nil, err
		}
		added = before == nil
		_, err = tx.Exec(ctx, "put-subscriber", rows.SubscriberArgs(&entry)...)
		return record.SubscriberPut(before, &entry), err
	})
	return added && err == nil, err
}

// subscriber is the entry of the id, nil where it has none.
func subscriber(ctx context.Context, tx Conn, id string) (*delivery.Subscriber, error) {
	var row rows.Subscriber
	return one(ctx, tx, "subscribers", []any{[]string{id}}, row.Columns(), row.Subscriber)
}

// DeleteSubscriber implements ledger.Book.
func (s *Store) DeleteSubscriber(ctx context.Context, who ledger.Author, id string) error {
	return s.change(ctx, "delete subscriber", who, func(tx Conn) (*ledger.Change, error) {
		before, err := subscriber(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if before == nil {
			return nil, fmt.Errorf("%w: subscriber %q", ledger.ErrNotFound, id)
		}
		_, err = tx.Exec(ctx, "delete-subscriber", id)
		return record.SubscriberDeleted(before), err
	})
}

// Subscribers implements delivery.Addresses.
func (s *Store) Subscribers(ctx context.Context, ids []string) (map[string]delivery.Subscriber, error) {
	entries, err := s.subscribers(ctx, "subscribers", ids)
	if err != nil {
		return nil, err
	}
	found := make(map[string]delivery.Subscriber, len(entries))
	for _, entry := range entries {
		found[entry.ID] = entry
	}
	return found, nil
}

// ListSubscribers implements ledger.Book.
func (s *Store) ListSubscribers(ctx context.Context, after string, limit int) ([]delivery.Subscriber, error) {
	return s.subscribers(ctx, "list-subscribers", after, limit)
}

func (s *Store) subscribers(ctx context.Context, name string, args ...any) ([]delivery.Subscriber, error) {
	var row rows.Subscriber
	return list(ctx, s.db, name, args, row.Columns(), row.Subscriber)
}
