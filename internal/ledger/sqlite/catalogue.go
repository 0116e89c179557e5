package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
	"tallyman/rules/catalog"
)

// Types implements ledger.Catalogue.
func (l *Ledger) Types(ctx context.Context) (catalog.Catalog, error) {
	types := catalog.Catalog{}
	var t rows.Type
	err := each(ctx, l.read, "types", nil, t.Columns(), func() error {
		typ, err := t.Type()
		types[typ.Code] = typ
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return types, nil
}

// TypesVersion implements ledger.Catalogue.
func (l *Ledger) TypesVersion(ctx context.Context) (int64, error) {
	var v int64
	if _, err := one(ctx, l.read, "number", []any{"types_version"}, &v); err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	return v, nil
}

// PutType implements ledger.Catalogue.
func (l *Ledger) PutType(ctx context.Context, t catalog.Type) error {
	args, err := rows.TypeArgs(&t)
	if err != nil {
		return err
	}
	return l.changeTypes(ctx, func(tx *sql.Tx) (bool, error) {
		_, err := exec(ctx, tx, "put-type", args...)
		return true, taken(err, &t)
	})
}

// taken turns a violation of the numeric id's uniqueness into ErrExists.
func taken(err error, t *catalog.Type) error {
	if isUniqueViolation(err) {
		return fmt.Errorf("%w: another type has the numeric id %d of %s", ledger.ErrExists, t.ID, t.Code)
	}
	return err
}

// DeleteType implements ledger.Catalogue.
func (l *Ledger) DeleteType(ctx context.Context, code string) error {
	return l.changeTypes(ctx, func(tx *sql.Tx) (bool, error) {
		n, err := exec(ctx, tx, "delete-type", code)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: type %q", ledger.ErrNotFound, code)
		}
		return true, err
	})
}

// SeedTypes implements ledger.Catalogue.
func (l *Ledger) SeedTypes(ctx context.Context, types catalog.Catalog) (added int, err error) {
	err = l.changeTypes(ctx, func(tx *sql.Tx) (bool, error) {
		for _, t := range rows.Sorted(types) {
			args, err := rows.TypeArgs(&t)
			if err != nil {
				return false, err
			}
			n, err := exec(ctx, tx, "seed-type", args...)
			if err != nil {
				return false, taken(err, &t)
			}
			added += int(n)
		}
		return added > 0, nil
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

// changeTypes runs do and lets the version grow if it says that something changed.
func (l *Ledger) changeTypes(ctx context.Context, do func(*sql.Tx) (bool, error)) error {
	return l.inTx(ctx, "change types", func(tx *sql.Tx) error {
		changed, err := do(tx)
		if err != nil || !changed {
			return err
		}
		_, err = take(ctx, tx, "types_version", 1)
		return err
	})
}

// Subscriptions implements ledger.Catalogue.
func (l *Ledger) Subscriptions(ctx context.Context, f ledger.SubscriptionFilter) ([]ledger.Subscription, error) {
	var after, s ledger.Subscription
	if f.After != nil {
		after = *f.After
	}
	limit := -1
	if f.Limit > 0 {
		limit = f.Limit
	}
	var out []ledger.Subscription
	args := []any{f.Type, f.Warehouse, f.Subscriber, after.Type, after.Warehouse, after.Subscriber, limit}
	err := each(ctx, l.read, "subscriptions", args, []any{&s.Type, &s.Warehouse, &s.Subscriber}, func() error {
		out = append(out, s)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return out, nil
}

// AddSubscriptions implements ledger.Catalogue.
func (l *Ledger) AddSubscriptions(ctx context.Context, subs []ledger.Subscription) (added int, err error) {
	return l.addSubscriptions(ctx, subs, false)
}

// SeedSubscriptions implements ledger.Catalogue.
func (l *Ledger) SeedSubscriptions(ctx context.Context, subs []ledger.Subscription) (added int, err error) {
	return l.addSubscriptions(ctx, subs, true)
}

func (l *Ledger) addSubscriptions(ctx context.Context, subs []ledger.Subscription, seed bool) (int, error) {
	if len(subs) == 0 {
		return 0, nil
	}
	for _, s := range subs {
		if err := s.Validate(); err != nil {
			return 0, err
		}
	}
	var added int64
	err := l.inTx(ctx, "add subscriptions", func(tx *sql.Tx) error {
		first, err := exec(ctx, tx, "mark-subscribed")
		if err != nil || (seed && first == 0) {
			return err
		}
		for _, s := range subs {
			n, err := exec(ctx, tx, "add-subscription", s.Type, s.Warehouse, s.Subscriber)
			if isForeignKeyViolation(err) {
				return fmt.Errorf("%w: type %q", ledger.ErrNotFound, s.Type)
			}
			if err != nil {
				return err
			}
			added += n
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return int(added), nil
}

// RemoveSubscription implements ledger.Catalogue.
func (l *Ledger) RemoveSubscription(ctx context.Context, s ledger.Subscription) error {
	n, err := l.exec(ctx, "remove-subscription", s.Type, s.Warehouse, s.Subscriber)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: that subscription", ledger.ErrNotFound)
	}
	return err
}
