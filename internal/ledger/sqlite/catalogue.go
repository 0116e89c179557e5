package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
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
func (l *Ledger) PutType(ctx context.Context, who ledger.Author, t catalog.Type) error {
	args, err := rows.TypeArgs(&t)
	if err != nil {
		return err
	}
	return l.changeTypes(ctx, who, func(tx *sql.Tx) (*ledger.Change, error) {
		before, err := typeOf(ctx, tx, t.Code)
		if err != nil {
			return nil, err
		}
		_, err = exec(ctx, tx, "put-type", args...)
		return record.TypePut(before, &t), taken(err, &t)
	})
}

// typeOf is the type of the code, nil where there is none.
func typeOf(ctx context.Context, tx *sql.Tx, code string) (*catalog.Type, error) {
	var row rows.Type
	if there, err := one(ctx, tx, "type", []any{code}, row.Columns()...); err != nil || !there {
		return nil, err
	}
	t, err := row.Type()
	return &t, err
}

// taken turns a violation of the numeric id's uniqueness into ErrExists.
func taken(err error, t *catalog.Type) error {
	if isUniqueViolation(err) {
		return fmt.Errorf("%w: another type has the numeric id %d of %s", ledger.ErrExists, t.ID, t.Code)
	}
	return err
}

// DeleteType implements ledger.Catalogue.
func (l *Ledger) DeleteType(ctx context.Context, who ledger.Author, code string) error {
	return l.changeTypes(ctx, who, func(tx *sql.Tx) (*ledger.Change, error) {
		before, err := typeOf(ctx, tx, code)
		if err != nil {
			return nil, err
		}
		if before == nil {
			return nil, fmt.Errorf("%w: type %q", ledger.ErrNotFound, code)
		}
		_, err = exec(ctx, tx, "delete-type", code)
		return record.TypeDeleted(before), err
	})
}

// SeedTypes implements ledger.Catalogue.
func (l *Ledger) SeedTypes(ctx context.Context, who ledger.Author, types catalog.Catalog) (int, error) {
	var added []catalog.Type
	err := l.changeTypes(ctx, who, func(tx *sql.Tx) (*ledger.Change, error) {
		for _, t := range rows.Sorted(types) {
			args, err := rows.TypeArgs(&t)
			if err != nil {
				return nil, err
			}
			n, err := exec(ctx, tx, "seed-type", args...)
			if err != nil {
				return nil, taken(err, &t)
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

// changeTypes is change, and lets the version grow if something was changed.
func (l *Ledger) changeTypes(ctx context.Context, who ledger.Author, do func(*sql.Tx) (*ledger.Change, error)) error {
	return l.change(ctx, "change types", who, func(tx *sql.Tx) (*ledger.Change, error) {
		c, err := do(tx)
		if err != nil || c == nil {
			return nil, err
		}
		_, err = take(ctx, tx, "types_version", 1)
		return c, err
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
func (l *Ledger) AddSubscriptions(ctx context.Context, who ledger.Author, subs []ledger.Subscription) (added int, err error) {
	return l.addSubscriptions(ctx, who, subs, false)
}

// SeedSubscriptions implements ledger.Catalogue.
func (l *Ledger) SeedSubscriptions(ctx context.Context, who ledger.Author, subs []ledger.Subscription) (added int, err error) {
	return l.addSubscriptions(ctx, who, subs, true)
}

func (l *Ledger) addSubscriptions(ctx context.Context, who ledger.Author, subs []ledger.Subscription, seed bool) (int, error) {
	if len(subs) == 0 {
		return 0, nil
	}
	for _, s := range subs {
		if err := s.Validate(); err != nil {
			return 0, err
		}
	}
	var added []ledger.Subscription
	err := l.change(ctx, "add subscriptions", who, func(tx *sql.Tx) (*ledger.Change, error) {
		first, err := exec(ctx, tx, "mark-subscribed")
		if err != nil || (seed && first == 0) {
			return nil, err
		}
		for _, s := range subs {
			n, err := exec(ctx, tx, "add-subscription", s.Type, s.Warehouse, s.Subscriber)
			if isForeignKeyViolation(err) {
				return nil, fmt.Errorf("%w: type %q", ledger.ErrNotFound, s.Type)
			}
			if err != nil {
				return nil, err
			}
			if n > 0 {
				added = append(added, s)
			}
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

// RemoveSubscription implements ledger.Catalogue.
func (l *Ledger) RemoveSubscription(ctx context.Context, who ledger.Author, s ledger.Subscription) error {
	return l.change(ctx, "remove subscription", who, func(tx *sql.Tx) (*ledger.Change, error) {
		n, err := exec(ctx, tx, "remove-subscription", s.Type, s.Warehouse, s.Subscriber)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: that subscription", ledger.ErrNotFound)
		}
		return record.SubscriptionRemoved(s), err
	})
}
