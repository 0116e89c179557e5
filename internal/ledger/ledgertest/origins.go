package ledgertest

import (
	"context"
	"testing"
	"time"

	"tallyman/internal/ledger"
)

const wms = "wms"

// everyMinute is the claim of a query that asks the source wms for subscriptions every minute.
var everyMinute = ledger.OriginClaim{OriginKey: ledger.OriginKey{Kind: ledger.OriginSubscriptions, Name: wms}, Question: "q1", Every: time.Minute, Within: 3 * time.Minute}

// ofWMS makes a subscription whose origin is the source wms.
func ofWMS(warehouse, subscriber string) ledger.Subscription {
	return ledger.Subscription{Type: "REP_NOTICE", Warehouse: warehouse, Subscriber: subscriber, Origin: wms}
}

// takes claims the next query a minute later, and takes subs as the list that the source returned.
func (f *base) takes(t testing.TB, subs ...ledger.Subscription) ledger.OriginChange {
	t.Helper()
	f.clock.Add(time.Minute)
	token, claimed, err := f.ClaimOrigin(t.Context(), everyMinute)
	noError(t, err)
	if !claimed {
		t.Fatal("nobody has asked for a minute, and the claim failed")
	}
	c, err := f.TakeSubscriptions(t.Context(), Ann, wms, token, subs)
	noError(t, err)
	return c
}

// origin returns the only origin of subscriptions.
func (f *base) origin(t testing.TB) ledger.SubscriptionOrigin {
	t.Helper()
	list, err := f.other(t).SubscriptionOrigins(t.Context())
	noError(t, err)
	if len(list) != 1 {
		t.Fatalf("%d origins", len(list))
	}
	return list[0]
}

// listing returns a change: the source wms lists a subscription of user:1 in each of the warehouses.
func listing(warehouses ...string) func(context.Context, ledger.Ledger, ledger.Author) error {
	return func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
		token, _, err := l.ClaimOrigin(ctx, ledger.OriginClaim{OriginKey: everyMinute.OriginKey})
		if err != nil {
			return err
		}
		var subs []ledger.Subscription
		for _, warehouse := range warehouses {
			subs = append(subs, ofWMS(warehouse, "user:1"))
		}
		return second(l.TakeSubscriptions(ctx, who, wms, token, subs))
	}
}

// emptied makes the source wms return an empty list, which waits for an operator.
func emptied(ctx context.Context, l ledger.Ledger) error { return listing()(ctx, l, Ann) }

var originTests = []testCase{
	{"subscriptions of a source follow its list", func(t *testing.T, f *fixture) {
		noError(t, f.PutType(t.Context(), Ann, repNotice()))
		one, two, three := ofWMS("*", "role:keeper"), ofWMS("119240", "user:ann"), ofWMS("119240", "user:bo")
		equal(t, ledger.OriginChange{}, f.takes(t))
		equal(t, ledger.OriginChange{Added: []ledger.Subscription{one, two}}, f.takes(t, two, one, two))
		equal(t, ledger.OriginChange{}, f.takes(t, one, two))
		equal(t, ledger.OriginChange{Added: []ledger.Subscription{three}, Removed: []ledger.Subscription{two}}, f.takes(t, one, three))
		f.hasSubscriptions(t, ledger.SubscriptionFilter{}, one, three)
		got := f.origin(t)
		equal(t, 2, got.Subscriptions)
		equal(t, f.clock.Now(), got.Answered)
	}},
	{"a list that removes more than half waits until that list is confirmed", func(t *testing.T, f *fixture) {
		noError(t, f.PutType(t.Context(), Ann, repNotice()))
		all := []ledger.Subscription{ofWMS("*", "user:1"), ofWMS("*", "user:2"), ofWMS("*", "user:3"), ofWMS("*", "user:4")}
		f.takes(t, all...)
		for _, subs := range [][]ledger.Subscription{all[:1], nil} {
			equal(t, ledger.OriginChange{Waits: true}, f.takes(t, subs...))
		}
		f.hasSubscriptions(t, ledger.SubscriptionFilter{}, all...)
		none := f.origin(t).Waits
		equal(t, all, none.Removed)
		f.takes(t, ofWMS("*", "user:9"))
		_, err := f.ConfirmSubscriptions(t.Context(), Ann, wms, none.Hash)
		isError(t, ledger.ErrOtherList, err)
		f.hasSubscriptions(t, ledger.SubscriptionFilter{}, all...)
		shown := f.origin(t).Waits
		equal(t, []ledger.Subscription{ofWMS("*", "user:9")}, shown.Added)
		c, err := f.ConfirmSubscriptions(t.Context(), Ann, wms, shown.Hash)
		noError(t, err)
		equal(t, ledger.OriginChange{Added: shown.Added, Removed: shown.Removed}, c)
		f.hasSubscriptions(t, ledger.SubscriptionFilter{}, ofWMS("*", "user:9"))
		_, err = f.ConfirmSubscriptions(t.Context(), Ann, wms, shown.Hash)
		isError(t, ledger.ErrOtherList, err)
		equal(t, (*ledger.WaitingList)(nil), f.origin(t).Waits)
		f.takes(t, all...) // one of one is more than half
		equal(t, 1, len(f.origin(t).Waits.Removed))
		f.takes(t, append(all, ofWMS("*", "user:9"))...)
		equal(t, (*ledger.WaitingList)(nil), f.origin(t).Waits)
		equal(t, 5, f.origin(t).Subscriptions)
		equal(t, 2, len(f.takes(t, all[:3]...).Removed)) // 2 of 5
		equal(t, ledger.OriginChange{Waits: true}, f.takes(t, all[:1]...))
	}},
	{"one node at a time queries a source, and a late answer counts for nothing", func(t *testing.T, f *fixture) {
		noError(t, f.PutType(t.Context(), Ann, repNotice()))
		other := f.other(t)
		slow, claimed, err := f.ClaimOrigin(t.Context(), everyMinute)
		noError(t, err)
		equal(t, true, claimed)
		_, claimed, err = other.ClaimOrigin(t.Context(), everyMinute)
		noError(t, err)
		equal(t, false, claimed)
		f.clock.Add(2 * time.Minute)
		_, claimed, err = other.ClaimOrigin(t.Context(), everyMinute) // the answer may still come
		noError(t, err)
		equal(t, false, claimed)
		f.clock.Add(time.Minute)
		next, claimed, err := other.ClaimOrigin(t.Context(), everyMinute)
		noError(t, err)
		equal(t, true, claimed)
		_, err = other.TakeSubscriptions(t.Context(), Ann, wms, next, []ledger.Subscription{ofWMS("*", "user:1")})
		noError(t, err)
		_, err = f.TakeSubscriptions(t.Context(), Ann, wms, slow, nil)
		isError(t, ledger.ErrFenced, err)
		isError(t, ledger.ErrFenced, f.FailOrigin(t.Context(), everyMinute.OriginKey, slow, "gone"))
		f.hasSubscriptions(t, ledger.SubscriptionFilter{}, ofWMS("*", "user:1"))
	}},
	{"a new query is claimed at once, unless another one has no answer yet", func(t *testing.T, f *fixture) {
		anew := everyMinute
		anew.Question, anew.Anew = "q2", true
		token, _, err := f.ClaimOrigin(t.Context(), everyMinute)
		noError(t, err)
		_, claimed, err := f.ClaimOrigin(t.Context(), anew) // the other query has no answer yet
		noError(t, err)
		equal(t, false, claimed)
		noError(t, f.FailOrigin(t.Context(), everyMinute.OriginKey, token, "gone"))
		again := everyMinute
		again.Anew = true
		_, claimed, err = f.ClaimOrigin(t.Context(), again) // the query is the same
		noError(t, err)
		equal(t, false, claimed)
		_, claimed, err = f.ClaimOrigin(t.Context(), anew)
		noError(t, err)
		equal(t, true, claimed)
	}},
	{"a source that fails keeps its last list", func(t *testing.T, f *fixture) {
		noError(t, f.PutType(t.Context(), Ann, repNotice()))
		f.takes(t, ofWMS("*", "user:1"))
		answered := f.clock.Now()
		for i := range 2 {
			f.clock.Add(time.Minute)
			token, _, err := f.ClaimOrigin(t.Context(), everyMinute)
			noError(t, err)
			_, err = f.TakeSubscriptions(t.Context(), Ann, wms, token, []ledger.Subscription{{Type: "NONE", Warehouse: "*", Subscriber: "user:1"}})
			isError(t, ledger.ErrNotFound, err)
			_, err = f.TakeSubscriptions(t.Context(), Ann, wms, token, []ledger.Subscription{ofWMS("a b", "user:1")})
			isError(t, ledger.ErrInvalid, err)
			noError(t, f.FailOrigin(t.Context(), everyMinute.OriginKey, token, "row 1"))
			got := f.origin(t)
			equal(t, "row 1", got.Error)
			equal(t, answered, got.Answered)
			equal(t, f.clock.Now().Add(-time.Duration(i)*time.Minute), got.FailedSince)
		}
		f.hasSubscriptions(t, ledger.SubscriptionFilter{}, ofWMS("*", "user:1"))
		f.takes(t, ofWMS("*", "user:1"))
		equal(t, "", f.origin(t).Error)
		equal(t, true, f.origin(t).FailedSince.IsZero())
	}},
	{"subscriptions made by hand stay so, and those from a source cannot be removed by hand", func(t *testing.T, f *fixture) {
		noError(t, f.PutType(t.Context(), Ann, repNotice()))
		mine := ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:1"}
		f.subscribe(t, mine)
		f.takes(t, ofWMS("*", "user:1"), ofWMS("*", "user:2"))
		f.hasSubscriptions(t, ledger.SubscriptionFilter{}, mine, ofWMS("*", "user:2"))
		isError(t, ledger.ErrHasOrigin, f.RemoveSubscription(t.Context(), Ann, ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:2"}))
		added, err := f.AddSubscriptions(t.Context(), Ann, []ledger.Subscription{{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:2"}})
		noError(t, err)
		equal(t, 0, added)
		noError(t, f.RemoveSubscription(t.Context(), Ann, mine))
		f.takes(t, ofWMS("*", "user:1"), ofWMS("*", "user:2"))
		f.hasSubscriptions(t, ledger.SubscriptionFilter{}, ofWMS("*", "user:1"), ofWMS("*", "user:2"))
		released, err := f.ReleaseSubscriptions(t.Context(), Ann, wms)
		noError(t, err)
		equal(t, 2, released)
		f.hasSubscriptions(t, ledger.SubscriptionFilter{Subscriber: "user:1"}, mine)
		_, err = f.ReleaseSubscriptions(t.Context(), Ann, wms)
		isError(t, ledger.ErrNotFound, err)
		noError(t, f.RemoveSubscription(t.Context(), Ann, mine))
	}},
}
