package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
	"tallyman/rules/catalog"
)

// Types implements ledger.Catalogue.
func (l *Ledger) Types(ctx context.Context) (catalog.Catalog, error) {
	list, err := query(ctx, l, "types", scanType)
	if err != nil {
		return nil, err
	}
	types := make(catalog.Catalog, len(list))
	for _, t := range list {
		types[t.Code] = t
	}
	return types, nil
}

func scanType(r pgx.CollectableRow) (catalog.Type, error) {
	var t rows.Type
	if err := r.Scan(t.Columns()...); err != nil {
		return catalog.Type{}, err
	}
	return t.Type()
}

// TypesVersion implements ledger.Catalogue.
func (l *Ledger) TypesVersion(ctx context.Context) (int64, error) {
	var v int64
	if err := l.pool.QueryRow(ctx, queries.Get("number"), "types_version").Scan(&v); err != nil {
		return 0, failed("types version", err)
	}
	return v, nil
}

// PutType implements ledger.Catalogue.
func (l *Ledger) PutType(ctx context.Context, who ledger.Author, t catalog.Type) error {
	args, err := rows.TypeArgs(&t)
	if err != nil {
		return err
	}
	return l.changeTypes(ctx, who, func(tx pgx.Tx) (*ledger.Change, error) {
		before, err := one(ctx, tx, "type", scanType, t.Code)
		if err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, queries.Get("put-type"), args...)
		return record.TypePut(before, &t), taken(err, &t)
	})
}

// taken turns a violation of the numeric id's uniqueness into ErrExists.
func taken(err error, t *catalog.Type) error {
	if hasState(err, uniqueViolation) {
		return fmt.Errorf("%w: another type has the numeric id %d of %s", ledger.ErrExists, t.ID, t.Code)
	}
	return err
}

// DeleteType implements ledger.Catalogue.
func (l *Ledger) DeleteType(ctx context.Context, who ledger.Author, code string) error {
	return l.changeTypes(ctx, who, func(tx pgx.Tx) (*ledger.Change, error) {
		before, err := one(ctx, tx, "type", scanType, code)
		if err != nil {
			return nil, err
		}
		if before == nil {
			return nil, fmt.Errorf("%w: type %q", ledger.ErrNotFound, code)
		}
		_, err = tx.Exec(ctx, queries.Get("delete-type"), code)
		return record.TypeDeleted(before), err
	})
}

// SeedTypes implements ledger.Catalogue.
func (l *Ledger) SeedTypes(ctx context.Context, who ledger.Author, types catalog.Catalog) (int, error) {
	var added []catalog.Type
	err := l.changeTypes(ctx, who, func(tx pgx.Tx) (*ledger.Change, error) {
		added = nil
		for _, t := range rows.Sorted(types) {
			args, err := rows.TypeArgs(&t)
			if err != nil {
				return nil, err
			}
			tag, err := tx.Exec(ctx, queries.Get("seed-type"), args...)
			if err != nil {
				return nil, taken(err, &t)
			}
			if tag.RowsAffected() > 0 {
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
func (l *Ledger) changeTypes(ctx context.Context, who ledger.Author, do func(pgx.Tx) (*ledger.Change, error)) error {
	return l.change(ctx, "change types", who, func(tx pgx.Tx) (*ledger.Change, error) {
		c, err := do(tx)
		if err != nil || c == nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, queries.Get("count-types-version"))
		return c, err
	})
}

// Subscriptions implements ledger.Catalogue.
func (l *Ledger) Subscriptions(ctx context.Context, f ledger.SubscriptionFilter) ([]ledger.Subscription, error) {
	var after ledger.Subscription
	if f.After != nil {
		after = *f.After
	}
	var limit *int
	if f.Limit > 0 {
		limit = &f.Limit
	}
	return query(ctx, l, "subscriptions", pgx.RowToStructByPos[ledger.Subscription], f.Type, f.Warehouse, f.Subscriber,
		after.Type, after.Warehouse, after.Subscriber, limit)
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
	var types, warehouses, subscribers []string
	for _, s := range subs {
		if err := s.Validate(); err != nil {
			return 0, err
		}
		types = append(types, s.Type)
		warehouses = append(warehouses, s.Warehouse)
		subscribers = append(subscribers, s.Subscriber)
	}
	var added []ledger.Subscription
	err := l.change(ctx, "add subscriptions", who, func(tx pgx.Tx) (*ledger.Change, error) {
		added = nil
		first, err := tx.Exec(ctx, queries.Get("mark-subscribed"))
		if err != nil || (seed && first.RowsAffected() == 0) {
			return nil, err
		}
		found, err := tx.Query(ctx, queries.Get("add-subscriptions"), types, warehouses, subscribers)
		if err == nil {
			added, err = pgx.CollectRows(found, pgx.RowToStructByPos[ledger.Subscription])
		}
		switch {
		case hasState(err, foreignKeyViolation):
			return nil, fmt.Errorf("%w: a type of the subscriptions", ledger.ErrNotFound)
		case err != nil:
			return nil, err
		case seed:
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
	return l.change(ctx, "remove subscription", who, func(tx pgx.Tx) (*ledger.Change, error) {
		tag, err := tx.Exec(ctx, queries.Get("remove-subscription"), s.Type, s.Warehouse, s.Subscriber)
		if err == nil && tag.RowsAffected() == 0 {
			err = fmt.Errorf("%w: that subscription", ledger.ErrNotFound)
		}
		return record.SubscriptionRemoved(s), err
	})
}
