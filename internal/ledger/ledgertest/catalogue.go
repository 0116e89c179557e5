package ledgertest

import (
	"strings"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/rules/catalog"
)

var catalogueTests = []testCase{
	{"only the number of the changed data grows", func(t *testing.T, f *fixture) {
		before, err := f.Numbers(t.Context())
		noError(t, err)
		noError(t, f.PutType(t.Context(), Ann, repNotice()))
		before["types_version"]++
		after, err := f.Numbers(t.Context())
		noError(t, err)
		equal(t, before, after)
	}},
	{"types are added, replaced and removed", func(t *testing.T, f *fixture) {
		v := f.typesVersion(t, 0)
		noError(t, f.PutType(t.Context(), Ann, repNotice()))
		v = f.typesVersion(t, v)
		f.hasTypes(t, repNotice())
		changed := repNotice()
		changed.ID, changed.Names, changed.Fields, changed.Retention = 5, nil, nil, time.Hour
		noError(t, f.PutType(t.Context(), Ann, changed))
		v = f.typesVersion(t, v)
		f.hasTypes(t, changed)
		isError(t, ledger.ErrExists, f.PutType(t.Context(), Ann, catalog.Type{Code: "OTHER", ID: 5}))
		isError(t, ledger.ErrNotFound, f.DeleteType(t.Context(), Ann, "OTHER"))
		unchanged, err := f.TypesVersion(t.Context())
		noError(t, err)
		equal(t, v, unchanged)
		f.subscribe(t, ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:1"})
		noError(t, f.DeleteType(t.Context(), Ann, "REP_NOTICE"))
		f.typesVersion(t, v)
		f.hasTypes(t)
		f.hasSubscriptions(t, ledger.SubscriptionFilter{})
	}},
	{"seeding adds the types that are missing and changes none", func(t *testing.T, f *fixture) {
		noError(t, f.PutType(t.Context(), Ann, repNotice()))
		seed := repNotice()
		seed.Name = "changed"
		other := catalog.Type{Code: "OTHER", ID: 2, Name: "Other", Retention: time.Hour}
		added, err := f.SeedTypes(t.Context(), Ann, catalog.Catalog{"REP_NOTICE": seed, "OTHER": other})
		noError(t, err)
		equal(t, 1, added)
		f.hasTypes(t, repNotice(), other)
		v, err := f.TypesVersion(t.Context())
		noError(t, err)
		added, err = f.SeedTypes(t.Context(), Ann, catalog.Catalog{"OTHER": other})
		noError(t, err)
		equal(t, 0, added)
		same, err := f.TypesVersion(t.Context())
		noError(t, err)
		equal(t, v, same)
		_, err = f.SeedTypes(t.Context(), Ann, catalog.Catalog{"A": {Code: "A", ID: 1}, "B": {Code: "B", ID: 2}})
		isError(t, ledger.ErrExists, err)
		f.hasTypes(t, repNotice(), other)
	}},
	{"subscriptions are added and removed", func(t *testing.T, f *fixture) {
		noError(t, f.PutType(t.Context(), Ann, repNotice()))
		one := ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:1"}
		two := ledger.Subscription{Type: "REP_NOTICE", Warehouse: "119240", Subscriber: "role:keeper"}
		f.subscribe(t, one)
		added, err := f.AddSubscriptions(t.Context(), Ann, []ledger.Subscription{one, two, two})
		noError(t, err)
		equal(t, 1, added)
		three := two
		three.Subscriber = "user:3"
		unknown := ledger.Subscription{Type: "NONE", Warehouse: "*", Subscriber: "user:1"}
		_, err = f.AddSubscriptions(t.Context(), Ann, []ledger.Subscription{three, unknown})
		isError(t, ledger.ErrNotFound, err)
		for _, bad := range []ledger.Subscription{
			{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:1 user:2"},
			{Type: "REP_NOTICE", Warehouse: "a b", Subscriber: "user:1"},
			{Warehouse: "*", Subscriber: "user:1"},
		} {
			_, err = f.AddSubscriptions(t.Context(), Ann, []ledger.Subscription{three, bad})
			isError(t, ledger.ErrInvalid, err)
		}
		f.hasSubscriptions(t, ledger.SubscriptionFilter{}, one, two)
		noError(t, f.RemoveSubscription(t.Context(), Ann, one))
		isError(t, ledger.ErrNotFound, f.RemoveSubscription(t.Context(), Ann, one))
		f.hasSubscriptions(t, ledger.SubscriptionFilter{}, two)
	}},
	{"subscriptions are listed by filter and page", func(t *testing.T, f *fixture) {
		noError(t, f.PutType(t.Context(), Ann, catalog.Type{Code: "A", ID: 1}))
		noError(t, f.PutType(t.Context(), Ann, catalog.Type{Code: "B", ID: 2}))
		all := []ledger.Subscription{
			{Type: "A", Warehouse: "*", Subscriber: "user:1"},
			{Type: "A", Warehouse: "119240", Subscriber: "user:1"},
			{Type: "A", Warehouse: "119240", Subscriber: "user:2"},
			{Type: "B", Warehouse: "*", Subscriber: "user:1"},
		}
		f.subscribe(t, all[3], all[1], all[2], all[0])
		f.hasSubscriptions(t, ledger.SubscriptionFilter{}, all...)
		f.hasSubscriptions(t, ledger.SubscriptionFilter{Type: "A"}, all[:3]...)
		f.hasSubscriptions(t, ledger.SubscriptionFilter{Warehouse: "*"}, all[0], all[3])
		f.hasSubscriptions(t, ledger.SubscriptionFilter{Subscriber: "user:2"}, all[2])
		f.hasSubscriptions(t, ledger.SubscriptionFilter{Limit: 2}, all[:2]...)
		f.hasSubscriptions(t, ledger.SubscriptionFilter{Limit: 2, After: &all[1]}, all[2:]...)
		f.hasSubscriptions(t, ledger.SubscriptionFilter{After: &all[3]})
	}},
	{"subscriptions are seeded only where there never were any", func(t *testing.T, f *fixture) {
		noError(t, f.PutType(t.Context(), Ann, repNotice()))
		one := ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:1"}
		_, err := f.SeedSubscriptions(t.Context(), Ann, []ledger.Subscription{{Type: "NONE", Warehouse: "*", Subscriber: "user:1"}})
		isError(t, ledger.ErrNotFound, err)
		for _, want := range []int{1, 0} {
			added, err := f.SeedSubscriptions(t.Context(), Ann, []ledger.Subscription{one})
			noError(t, err)
			equal(t, want, added)
		}
		noError(t, f.RemoveSubscription(t.Context(), Ann, one))
		added, err := f.SeedSubscriptions(t.Context(), Ann, []ledger.Subscription{one})
		noError(t, err)
		equal(t, 0, added)
		f.hasSubscriptions(t, ledger.SubscriptionFilter{})
	}},
}

// typesVersion checks that the version is higher than before, and returns it.
func (f *base) typesVersion(t testing.TB, before int64) int64 {
	t.Helper()
	v, err := f.TypesVersion(t.Context())
	noError(t, err)
	if before > 0 && v <= before {
		t.Fatalf("the version did not grow: %d after %d", v, before)
	}
	return v
}

func (f *base) hasTypes(t testing.TB, want ...catalog.Type) {
	t.Helper()
	types := catalog.Catalog{}
	for _, w := range want {
		types[w.Code] = w
	}
	got, err := f.Types(t.Context())
	noError(t, err)
	equal(t, types, got)
}

func (f *base) hasSubscriptions(t testing.TB, filter ledger.SubscriptionFilter, want ...ledger.Subscription) {
	t.Helper()
	got, err := f.Subscriptions(t.Context(), filter)
	noError(t, err)
	if len(got)+len(want) > 0 {
		equal(t, want, got)
	}
}

var bookTests = []testCase{
	{"subscribers are added, replaced and removed", func(t *testing.T, f *fixture) {
		ann := delivery.Subscriber{
			ID: "user:ann", Name: "Ann Lee", Language: "zh-CN", Mail: []string{"Ann Lee <ann@example.com>", "a@example.org"},
			Phone: "+49 30 (901) 820-0", Alias: "ann.lee", Tags: []string{"night", "dock"}, Channels: map[string]string{"jpush": "170976fa8ab9e6a2b1f", "fcm": "c\"é"},
		}
		keepers := delivery.Subscriber{ID: "role:keeper"}
		f.enters(t, ann, true)
		f.enters(t, keepers, true)
		f.inBook(t, ann, keepers)
		ann.Name, ann.Language, ann.Mail = "Ann \"A\" Lee", "", []string{"ann@example.com"}
		ann.Phone, ann.Alias, ann.Tags, ann.Channels = "", "", nil, map[string]string{"wecom": "ANN"}
		f.enters(t, ann, false)
		f.inBook(t, ann, keepers)
		noError(t, f.DeleteSubscriber(t.Context(), Ann, "role:keeper"))
		isError(t, ledger.ErrNotFound, f.DeleteSubscriber(t.Context(), Ann, "role:keeper"))
		f.inBook(t, ann)
	}},
	{"who leaves the address book stays subscribed", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.enters(t, delivery.Subscriber{ID: "user:1"}, true)
		noError(t, f.DeleteSubscriber(t.Context(), Ann, "user:1"))
		f.hasSubscriptions(t, ledger.SubscriptionFilter{}, ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:1"})
	}},
	{"an entry that is not right is refused", func(t *testing.T, f *fixture) {
		for _, bad := range []delivery.Subscriber{
			{ID: "ann"},
			{ID: "user:ann lee"},
			{ID: "user:ann", Name: "Ann\nBcc: x"},
			{ID: "user:ann", Name: strings.Repeat("é", 201)},
			{ID: "user:ann", Language: "Chinese"},
			{ID: "user:ann", Mail: []string{"ann@example.com", "ann"}},
			{ID: "user:ann", Mail: []string{"ann@example.com\r\nBcc: x@example.com"}},
			{ID: "user:ann", Mail: []string{strings.Repeat("a", 320) + "@example.com"}},
			{ID: "user:ann", Mail: make([]string, 51)},
			{ID: "user:ann", Phone: "call me"},
			{ID: "user:ann", Phone: "+49\n30"},
			{ID: "user:ann", Phone: strings.Repeat("1", 50)},
			{ID: "user:ann", Alias: strings.Repeat("a", 201)},
			{ID: "user:ann", Alias: "a\x00b"},
			{ID: "user:ann", Tags: []string{"night", "night"}},
			{ID: "user:ann", Tags: []string{""}},
			{ID: "user:ann", Tags: make([]string, 51)},
			{ID: "user:ann", Channels: map[string]string{"JPush": "1"}},
			{ID: "user:ann", Channels: map[string]string{"mail": "ann@example.com"}},
			{ID: "user:ann", Channels: map[string]string{"jpush": ""}},
			{ID: "user:ann", Channels: map[string]string{"jpush": strings.Repeat("a", 2001)}},
		} {
			_, err := f.PutSubscriber(t.Context(), Ann, bad)
			isError(t, ledger.ErrInvalid, err)
		}
		f.inBook(t)
	}},
	{"the address book is read by ids and by pages", func(t *testing.T, f *fixture) {
		var all []delivery.Subscriber
		for _, id := range []string{"role:a", "role:b", "user:10", "user:9", "user:A", "user:a"} {
			all = append(all, delivery.Subscriber{ID: id, Name: "name of " + id})
		}
		for i := range all {
			f.enters(t, all[len(all)-1-i], true)
		}
		f.inBook(t, all...)
		for after, want := range map[string][]delivery.Subscriber{"": all[:4], "role:b": all[2:], "user:9": all[4:], "user:a": nil} {
			got, err := f.ListSubscribers(t.Context(), after, 4)
			noError(t, err)
			equal(t, want, got)
		}
		got, err := f.Subscribers(t.Context(), []string{"user:9", "role:a", "user:none", "user:9"})
		noError(t, err)
		equal(t, map[string]delivery.Subscriber{"user:9": all[3], "role:a": all[0]}, got)
		got, err = f.Subscribers(t.Context(), nil)
		noError(t, err)
		equal(t, map[string]delivery.Subscriber{}, got)
	}},
}

// enters puts an entry and checks whether the ledger reports it as new.
func (f *base) enters(t testing.TB, s delivery.Subscriber, added bool) {
	t.Helper()
	got, err := f.PutSubscriber(t.Context(), Ann, s)
	noError(t, err)
	equal(t, added, got)
}

// inBook checks the whole address book, as another node reads it.
func (f *base) inBook(t testing.TB, want ...delivery.Subscriber) {
	t.Helper()
	got, err := f.other(t).ListSubscribers(t.Context(), "", 100)
	noError(t, err)
	byID := make(map[string]delivery.Subscriber, len(want))
	for _, s := range want {
		byID[s.ID] = s
	}
	found := make(map[string]delivery.Subscriber, len(got))
	for _, s := range got {
		found[s.ID] = s
	}
	equal(t, byID, found)
}
