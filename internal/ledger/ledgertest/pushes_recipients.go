package ledgertest

import (
	"slices"
	"strconv"
	"testing"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

var pushRecipientTests = []testCase{
	{"a push channel has the recipients of its notices, and a delivery without any", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.subscribe(t, ledger.Subscription{Type: "REP_NOTICE", Warehouse: warehouse, Subscriber: "role:keeper"})
		nobodys, named := ofKey("nobodys", 0), ofKey("named", 0)
		nobodys.Type = "OTHER"
		someone := ledger.Target{Sink: inboxSink, Inbox: true, Recipients: []string{"user:8", "user:9"}}
		f.commit(t, 1, append(to([]ledger.Target{important, inbox}, ofKey("k", 0), nobodys), to([]ledger.Target{important, someone}, named)...))
		claims := f.claimPushes(t, "a", 10).List
		equal(t, [][]string{{"role:keeper", "user:1"}, nil, {"user:8", "user:9"}}, recipientsOf(claims))
		f.settle(t, claims, delivery.SettleSent, 0)
		f.subscribe(t, ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:2"})
		f.commit(t, 2, to([]ledger.Target{important}, ofKey("k", 1)))
		f.settle(t, f.claimPushes(t, "a", 10).List, delivery.SettleSent, 0)
		// There is one resolution, to all recipients of the firing notice, although one has unsubscribed since.
		noError(t, f.RemoveSubscription(t.Context(), Ann, ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:1"}))
		equal(t, 2, f.resolve(t, 3, important, ofKey("k", 1), nobodys).Deliveries)
		equal(t, [][]string{{"role:keeper", "user:1", "user:2"}, nil}, recipientsOf(f.claimPushes(t, "a", 10).List))
	}},
	{"each recipient has a delivery, or each that has the address", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.subscribe(t, ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:2"}, ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:3"})
		for _, s := range []delivery.Subscriber{
			{ID: "user:1", Channels: map[string]string{"jpush": "1", "fcm": "2"}},
			{ID: "user:2", Phone: "110"},
			{ID: "user:9", Alias: "nine", Channels: map[string]string{"push": "1"}},
		} {
			f.enters(t, s, true)
		}
		each := func(address string, recipients ...string) ledger.Target {
			return ledger.Target{Sink: gateway, Each: true, Address: address, Recipients: recipients, Strategy: important.Strategy}
		}
		for n, c := range []struct {
			target ledger.Target
			want   [][]string
		}{
			{each(""), [][]string{{"user:1"}, {"user:2"}, {"user:3"}}},
			{each("jpush"), [][]string{{"user:1"}}},
			{each("fcm"), [][]string{{"user:1"}}},
			{each("phone"), [][]string{{"user:2"}}},
			{each("push"), nil},
			{each("", "user:9", "user:404"), [][]string{{"user:404"}, {"user:9"}}},
			{each("push", "user:1", "user:9"), [][]string{{"user:9"}}},
			{each("alias", "user:9"), [][]string{{"user:9"}}},
		} {
			f.commit(t, n+1, to([]ledger.Target{c.target}, ofKey(strconv.Itoa(n), 0)))
			claims := f.claimPushes(t, "a", 10).List
			got := recipientsOf(claims)
			slices.SortFunc(got, slices.Compare)
			equal(t, c.want, got)
			f.settle(t, claims, delivery.SettleSent, 0)
		}
	}},
}
