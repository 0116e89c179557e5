package ledgertest

import (
	"strings"
	"testing"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

var bookTests = []testCase{
	{"subscribers are added, replaced and removed", func(t *testing.T, f *fixture) {
		ann := delivery.Subscriber{ID: "user:ann", Name: "Ann Lee", Language: "zh-CN", Mail: []string{"Ann Lee <ann@example.com>", "a@example.org"}}
		keepers := delivery.Subscriber{ID: "role:keeper"}
		f.enters(t, ann, true)
		f.enters(t, keepers, true)
		f.inBook(t, ann, keepers)
		ann.Name, ann.Language, ann.Mail = "Ann \"A\" Lee", "", []string{"ann@example.com"}
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

// enters puts an entry and checks whether it was new.
func (f *fixture) enters(t testing.TB, s delivery.Subscriber, added bool) {
	t.Helper()
	got, err := f.PutSubscriber(t.Context(), Ann, s)
	noError(t, err)
	equal(t, added, got)
}

// inBook checks the whole address book, as another node reads it.
func (f *fixture) inBook(t testing.TB, want ...delivery.Subscriber) {
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
