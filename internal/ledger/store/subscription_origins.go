package store

import (
	"context"
	"fmt"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/record"
)

// SubscriptionOrigins implements ledger.SubscriptionOrigins.
func (s *catalogueStore) SubscriptionOrigins(ctx context.Context) ([]ledger.SubscriptionOrigin, error) {
	var row codec.Origin
	rows, err := list(ctx, s.db, "subscription-origins", nil, row.Columns(), func() (codec.Origin, error) { return row, nil })
	if err != nil {
		return nil, err
	}
	origins := make([]ledger.SubscriptionOrigin, len(rows))
	for i := range rows {
		origins[i] = ledger.SubscriptionOrigin{OriginState: rows[i].State(), Subscriptions: rows[i].Listed}
		wanted, err := rows[i].WaitingSubscriptions()
		if err != nil {
			return nil, err
		}
		if rows[i].Waits == "" {
			continue
		}
		present, err := subscriptions(ctx, s.db, "subscriptions-of", rows[i].Name)
		if err != nil {
			return nil, err
		}
		waits := &ledger.WaitingList{Hash: ledger.HashOfSubscriptions(wanted), Since: codec.Time(rows[i].WaitsSince)}
		waits.Added, waits.Removed = ledger.DifferentSubscriptions(present, wanted)
		origins[i].Waits = waits
	}
	return origins, nil
}

// TakeSubscriptions implements ledger.SubscriptionSyncer.
func (s *catalogueStore) TakeSubscriptions(ctx context.Context, who ledger.Author, name string, token int64, subs []ledger.Subscription) (c ledger.OriginChange, err error) {
	wanted := ofOrigin(name, subs)
	given, err := subscriptionsJSON(wanted)
	if err != nil {
		return c, err
	}
	err = s.change(ctx, "take subscriptions", who, func(tx Conn) (*ledger.Change, error) {
		row, err := claimedOrigin(ctx, tx, subscriptionOrigin(name), token)
		if err != nil {
			return nil, err
		}
		if err := knowTypes(ctx, tx, given); err != nil {
			return nil, err
		}
		row.Answered, row.Failed, row.Error = row.Asked, 0, ""
		present, err := subscriptions(ctx, tx, "subscriptions-of", name)
		if err != nil {
			return nil, err
		}
		_, removed := ledger.DifferentSubscriptions(present, wanted)
		if c = (ledger.OriginChange{Waits: ledger.RemovesTooMany(len(removed), len(present))}); c.Waits {
			return nil, waitFor(ctx, tx, row, given)
		}
		c, err = replaceSubscriptions(ctx, tx, row, present, wanted)
		return record.SubscriptionsTaken(name, &c, false), err
	})
	return c, err
}

func subscriptionOrigin(name string) ledger.OriginKey {
	return ledger.OriginKey{Kind: ledger.OriginSubscriptions, Name: name}
}

// ofOrigin returns the subscriptions with the origin set, sorted.
func ofOrigin(name string, subs []ledger.Subscription) []ledger.Subscription {
	sorted := ledger.SortSubscriptions(subs)
	for i := range sorted {
		sorted[i].Origin = name
	}
	return sorted
}

// replaceSubscriptions replaces the subscriptions of an origin by the wanted ones. Afterwards no list waits.
func replaceSubscriptions(ctx context.Context, tx Conn, row *codec.Origin, present, wanted []ledger.Subscription) (c ledger.OriginChange, err error) {
	added, removed := ledger.DifferentSubscriptions(present, wanted)
	if len(removed) > 0 {
		gone, err := subscriptionsJSON(removed)
		if err != nil {
			return c, err
		}
		if _, err := tx.Exec(ctx, "remove-subscriptions", row.Name, gone); err != nil {
			return c, err
		}
		c.Removed = removed
	}
	if len(added) > 0 {
		given, err := subscriptionsJSON(added)
		if err != nil {
			return c, err
		}
		if _, err := tx.Exec(ctx, "mark-subscribed"); err != nil {
			return c, err
		}
		if c.Added, err = insertSubscriptions(ctx, tx, given, row.Name); err != nil {
			return c, err
		}
	}
	row.Waits, row.WaitsSince = "", 0
	return c, setOrigin(ctx, tx, row)
}

// ConfirmSubscriptions implements ledger.SubscriptionSyncer.
func (s *catalogueStore) ConfirmSubscriptions(ctx context.Context, who ledger.Author, name, hash string) (c ledger.OriginChange, err error) {
	err = s.change(ctx, "confirm subscriptions", who, func(tx Conn) (*ledger.Change, error) {
		row, err := origin(ctx, tx, subscriptionOrigin(name))
		if err != nil {
			return nil, err
		}
		if row == nil || row.Waits == "" {
			return nil, fmt.Errorf("%w: no list of %s waits", ledger.ErrOtherList, name)
		}
		wanted, err := row.WaitingSubscriptions()
		if err != nil {
			return nil, err
		}
		if ledger.HashOfSubscriptions(wanted) != hash {
			return nil, fmt.Errorf("%w: origin %s", ledger.ErrOtherList, name)
		}
		present, err := subscriptions(ctx, tx, "subscriptions-of", name)
		if err != nil {
			return nil, err
		}
		c, err = replaceSubscriptions(ctx, tx, row, present, wanted)
		return record.SubscriptionsTaken(name, &c, true), err
	})
	return c, err
}

// ReleaseSubscriptions implements ledger.SubscriptionSyncer.
func (s *catalogueStore) ReleaseSubscriptions(ctx context.Context, who ledger.Author, name string) (released int, err error) {
	err = s.change(ctx, "release subscriptions", who, func(tx Conn) (*ledger.Change, error) {
		known, err := tx.Exec(ctx, "delete-origin", string(ledger.OriginSubscriptions), name)
		if err != nil {
			return nil, err
		}
		n, err := tx.Exec(ctx, "release-subscriptions", name)
		if err != nil {
			return nil, err
		}
		if released = int(n); known == 0 && n == 0 {
			return nil, fmt.Errorf("%w: no subscriptions come from %s", ledger.ErrNotFound, name)
		}
		return record.SubscriptionsReleased(name, released), nil
	})
	return released, err
}
