package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
	"tallyman/rules/catalog"
)

// Types implements ledger.Catalogue.
func (l *Ledger) Types(ctx context.Context) (catalog.Catalog, error) {
	list, err := query(ctx, l, "types", func(r pgx.CollectableRow) (catalog.Type, error) {
		var t rows.Type
		if err := r.Scan(t.Columns()...); err != nil {
			return catalog.Type{}, err
		}
		return t.Type()
	})
	if err != nil {
		return nil, err
	}
	types := make(catalog.Catalog, len(list))
	for _, t := range list {
		types[t.Code] = t
	}
	return types, nil
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
func (l *Ledger) PutType(ctx context.Context, t catalog.Type) error {
	args, err := rows.TypeArgs(&t)
	if err != nil {
		return err
	}
	return l.changeTypes(ctx, func(tx pgx.Tx) (bool, error) {
		_, err := tx.Exec(ctx, queries.Get("put-type"), args...)
		return true, taken(err, &t)
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
func (l *Ledger) DeleteType(ctx context.Context, code string) error {
	return l.changeTypes(ctx, func(tx pgx.Tx) (bool, error) {
		tag, err := tx.Exec(ctx, queries.Get("delete-type"), code)
		if err == nil && tag.RowsAffected() == 0 {
			err = fmt.Errorf("%w: type %q", ledger.ErrNotFound, code)
		}
		return true, err
	})
}

// SeedTypes implements ledger.Catalogue.
func (l *Ledger) SeedTypes(ctx context.Context, types catalog.Catalog) (added int, err error) {
	err = l.changeTypes(ctx, func(tx pgx.Tx) (bool, error) {
		added = 0
		for _, t := range rows.Sorted(types) {
			args, err := rows.TypeArgs(&t)
			if err != nil {
				return false, err
			}
			tag, err := tx.Exec(ctx, queries.Get("seed-type"), args...)
			if err != nil {
				return false, taken(err, &t)
			}
			added += int(tag.RowsAffected())
		}
		return added > 0, nil
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

// changeTypes runs do and lets the version grow if it says that something changed.
func (l *Ledger) changeTypes(ctx context.Context, do func(pgx.Tx) (bool, error)) error {
	return l.inTx(ctx, "change types", func(tx pgx.Tx) error {
		changed, err := do(tx)
		if err != nil || !changed {
			return err
		}
		_, err = tx.Exec(ctx, queries.Get("count-types-version"))
		return err
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
	var types, warehouses, subscribers []string
	for _, s := range subs {
		if err := s.Validate(); err != nil {
			return 0, err
		}
		types = append(types, s.Type)
		warehouses = append(warehouses, s.Warehouse)
		subscribers = append(subscribers, s.Subscriber)
	}
	var added int64
	err := l.inTx(ctx, "add subscriptions", func(tx pgx.Tx) error {
		first, err := tx.Exec(ctx, queries.Get("mark-subscribed"))
		if err != nil || (seed && first.RowsAffected() == 0) {
			return err
		}
		tag, err := tx.Exec(ctx, queries.Get("add-subscriptions"), types, warehouses, subscribers)
		if hasState(err, foreignKeyViolation) {
			return fmt.Errorf("%w: a type of the subscriptions", ledger.ErrNotFound)
		}
		added = tag.RowsAffected()
		return err
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
