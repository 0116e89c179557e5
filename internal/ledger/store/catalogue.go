package store

import (
	"context"
	"encoding/json"
	"fmt"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/record"
	"tallyman/rules/catalog"
)

// typesVersion is the number that grows with every change of a type.
const typesVersion = "types_version"

// catalogueStore is ledger.Catalogue without Recipients, which each engine implements itself.
type catalogueStore struct{ *base }

// Types implements ledger.TypeReader.
func (s *catalogueStore) Types(ctx context.Context) (catalog.Catalog, error) {
	types := catalog.Catalog{}
	var row codec.Type
	err := s.db.Each(ctx, "types", nil, row.Columns(), func() error {
		t, err := row.Type()
		types[t.Code] = t
		return err
	})
	if err != nil {
		return nil, err
	}
	return types, nil
}

// TypesVersion implements ledger.TypeReader.
func (s *catalogueStore) TypesVersion(ctx context.Context) (int64, error) {
	var v int64
	_, err := s.db.One(ctx, "number", []any{typesVersion}, &v)
	return v, err
}

// PutType implements ledger.Catalogue.
func (s *catalogueStore) PutType(ctx context.Context, who ledger.Author, t catalog.Type) error {
	args, err := codec.TypeArgs(&t)
	if err != nil {
		return err
	}
	return s.changeTypes(ctx, who, func(tx Conn) (*ledger.Change, error) {
		before, err := typeOf(ctx, tx, t.Code)
		if err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, "put-type", args...)
		return record.TypePut(before, &t), s.duplicateType(err, &t)
	})
}

// typeOf returns the type with the code; nil where there is none.
func typeOf(ctx context.Context, tx Conn, code string) (*catalog.Type, error) {
	var row codec.Type
	return one(ctx, tx, "type", []any{code}, row.Columns(), row.Type)
}

// duplicateType turns a violation of the uniqueness of numeric ids into ErrExists.
func (s *catalogueStore) duplicateType(err error, t *catalog.Type) error {
	if s.db.IsDuplicate(err) {
		return fmt.Errorf("%w: another type has the numeric id %d of %s", ledger.ErrExists, t.ID, t.Code)
	}
	return err
}

// DeleteType implements ledger.Catalogue.
func (s *catalogueStore) DeleteType(ctx context.Context, who ledger.Author, code string) error {
	return s.changeTypes(ctx, who, func(tx Conn) (*ledger.Change, error) {
		before, err := typeOf(ctx, tx, code)
		if err != nil {
			return nil, err
		}
		if before == nil {
			return nil, fmt.Errorf("%w: type %q", ledger.ErrNotFound, code)
		}
		_, err = tx.Exec(ctx, "delete-type", code)
		return record.TypeDeleted(before), err
	})
}

// SeedTypes implements ledger.Catalogue.
func (s *catalogueStore) SeedTypes(ctx context.Context, who ledger.Author, types catalog.Catalog) (int, error) {
	var added []catalog.Type
	err := s.changeTypes(ctx, who, func(tx Conn) (*ledger.Change, error) {
		added = nil
		for _, t := range codec.Sorted(types) {
			args, err := codec.TypeArgs(&t)
			if err != nil {
				return nil, err
			}
			n, err := tx.Exec(ctx, "seed-type", args...)
			if err != nil {
				return nil, s.duplicateType(err, &t)
			}
			if n > 0 {
				added = append(added, t)
			}
		}
		return record.TypesSeeded(added), nil
	})
	if err != nil {
		return 0, err
	}
	return len(added), nil
}

// changeTypes is change for types. If do has changed something, it also raises the version of the types.
func (s *catalogueStore) changeTypes(ctx context.Context, who ledger.Author, do func(Conn) (*ledger.Change, error)) error {
	return s.change(ctx, "change types", who, func(tx Conn) (*ledger.Change, error) {
		c, err := do(tx)
		if err != nil || c == nil {
			return nil, err
		}
		return c, count(ctx, tx, typesVersion)
	})
}

// Subscriptions implements ledger.CatalogueReader.
func (s *catalogueStore) Subscriptions(ctx context.Context, f ledger.SubscriptionFilter) ([]ledger.Subscription, error) {
	var after ledger.Subscription
	if f.After != nil {
		after = *f.After
	}
	return subscriptions(ctx, s.db, "subscriptions", f.Type, f.Warehouse, f.Subscriber, after.Type, after.Warehouse, after.Subscriber, max(f.Limit, 0))
}

func subscriptions(ctx context.Context, c Conn, name string, args ...any) ([]ledger.Subscription, error) {
	var row ledger.Subscription
	return list(ctx, c, name, args, []any{&row.Type, &row.Warehouse, &row.Subscriber, &row.Origin}, func() (ledger.Subscription, error) { return row, nil })
}

// AddSubscriptions implements ledger.Catalogue.
func (s *catalogueStore) AddSubscriptions(ctx context.Context, who ledger.Author, subs []ledger.Subscription) (added int, err error) {
	return s.addSubscriptions(ctx, who, subs, false)
}

// SeedSubscriptions implements ledger.Catalogue.
func (s *catalogueStore) SeedSubscriptions(ctx context.Context, who ledger.Author, subs []ledger.Subscription) (added int, err error) {
	return s.addSubscriptions(ctx, who, subs, true)
}

func (s *catalogueStore) addSubscriptions(ctx context.Context, who ledger.Author, subs []ledger.Subscription, seed bool) (int, error) {
	if len(subs) == 0 {
		return 0, nil
	}
	given, err := subscriptionsJSON(subs)
	if err != nil {
		return 0, err
	}
	var added []ledger.Subscription
	err = s.change(ctx, "add subscriptions", who, func(tx Conn) (*ledger.Change, error) {
		added = nil
		first, err := tx.Exec(ctx, "mark-subscribed")
		if err != nil || seed && first == 0 {
			return nil, err
		}
		if added, err = insertSubscriptions(ctx, tx, given, ""); err != nil {
			return nil, err
		}
		if seed {
			return record.SubscriptionsSeeded(subs, added), nil
		}
		return record.SubscriptionsAdded(subs, added), nil
	})
	if err != nil {
		return 0, err
	}
	return len(added), nil
}

// insertSubscriptions adds the subscriptions that the ledger does not have yet, whatever the origin of an existing one,
// and returns the added ones. ErrNotFound for an unknown type.
func insertSubscriptions(ctx context.Context, tx Conn, given, origin string) ([]ledger.Subscription, error) {
	if err := knowTypes(ctx, tx, given); err != nil {
		return nil, err
	}
	return subscriptions(ctx, tx, "add-subscriptions", given, origin)
}

// knowTypes returns ErrNotFound unless the catalogue has all of the types.
func knowTypes(ctx context.Context, tx Conn, given string) error {
	var unknown string
	missing, err := tx.One(ctx, "unknown-type", []any{given}, &unknown)
	if err == nil && missing {
		err = fmt.Errorf("%w: type %q", ledger.ErrNotFound, unknown)
	}
	return err
}

// subscriptionsJSON encodes the subscriptions as [[type, warehouse, subscriber], …]. ErrInvalid.
func subscriptionsJSON(subs []ledger.Subscription) (string, error) {
	triples := make([][3]string, len(subs))
	for i, sub := range subs {
		if err := sub.Validate(); err != nil {
			return "", err
		}
		triples[i] = [3]string{sub.Type, sub.Warehouse, sub.Subscriber}
	}
	text, err := json.Marshal(triples)
	if err != nil {
		return "", fmt.Errorf("ledger: encode subscriptions: %w", err)
	}
	return string(text), nil
}

// RemoveSubscription implements ledger.Catalogue.
func (s *catalogueStore) RemoveSubscription(ctx context.Context, who ledger.Author, sub ledger.Subscription) error {
	return s.change(ctx, "remove subscription", who, func(tx Conn) (*ledger.Change, error) {
		n, err := tx.Exec(ctx, "remove-subscription", sub.Type, sub.Warehouse, sub.Subscriber)
		if err != nil || n > 0 {
			return record.SubscriptionRemoved(sub), err
		}
		var origin string
		found, err := tx.One(ctx, "origin-of", []any{sub.Type, sub.Warehouse, sub.Subscriber}, &origin)
		switch {
		case err != nil:
			return nil, err
		case found:
			return nil, fmt.Errorf("%w: %s", ledger.ErrHasOrigin, origin)
		}
		return nil, fmt.Errorf("%w: subscription %s:%s:%s", ledger.ErrNotFound, sub.Type, sub.Warehouse, sub.Subscriber)
	})
}

// PutSubscriber implements ledger.Book.
func (s *catalogueStore) PutSubscriber(ctx context.Context, who ledger.Author, entry delivery.Subscriber) (added bool, err error) {
	if err := ledger.CheckSubscriber(&entry); err != nil {
		return false, err
	}
	err = s.change(ctx, "put subscriber", who, func(tx Conn) (*ledger.Change, error) {
		before, err := subscriber(ctx, tx, entry.ID)
		if err != nil {
			return nil, err
		}
		added = before == nil
		args, err := codec.SubscriberArgs(&entry)
		if err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, "put-subscriber", args...)
		return record.SubscriberPut(before, &entry), err
	})
	return added && err == nil, err
}

// subscriber returns the entry of the address book with the id; nil where there is none.
func subscriber(ctx context.Context, tx Conn, id string) (*delivery.Subscriber, error) {
	var row codec.Subscriber
	return one(ctx, tx, "subscribers", []any{[]string{id}}, row.Columns(), row.Subscriber)
}

// DeleteSubscriber implements ledger.Book.
func (s *catalogueStore) DeleteSubscriber(ctx context.Context, who ledger.Author, id string) error {
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
func (s *catalogueStore) Subscribers(ctx context.Context, ids []string) (map[string]delivery.Subscriber, error) {
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
func (s *catalogueStore) ListSubscribers(ctx context.Context, after string, limit int) ([]delivery.Subscriber, error) {
	return s.subscribers(ctx, "list-subscribers", after, limit)
}

func (s *catalogueStore) subscribers(ctx context.Context, name string, args ...any) ([]delivery.Subscriber, error) {
	var row codec.Subscriber
	return list(ctx, s.db, name, args, row.Columns(), row.Subscriber)
}
