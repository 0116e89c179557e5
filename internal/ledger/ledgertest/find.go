package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// aMinute returns a deadline that is long enough for a search on a busy machine.
func aMinute() time.Time { return time.Now().Add(time.Minute) }

func findFindings(t *testing.T, f *fixture) {
	f.subscribed(t)
	many := make([]string, ledger.LookedAt) // more than one step reads
	for i := range many {
		many[i] = fmt.Sprintf(`["C-%05d"]`, i)
	}
	changes := append(insert(many...), insert(`["A-01"]`, `["A-011"]`, `[119240,"A-02"]`, `["order"]`)...)
	changes[len(changes)-1].Row = []byte(`{"order":"SO-77","bin":"A-01"}`)
	moved := traced("n_moved", 1, func(n *notice.Notice) { n.Key, n.Warehouse = `["A-011"]`, "119241" })
	for i := range changes {
		if changes[i].Key == moved.Key {
			changes[i].NoticeID = moved.ID
		}
	}
	f.commit(t, 1, to([]ledger.Target{inbox}, moved), changes...)
	found := func(filter ledger.TextFilter) (string, bool) {
		t.Helper()
		list, all, err := f.FindFindings(t.Context(), filter)
		noError(t, err)
		keys := make([]string, len(list))
		for i, one := range list {
			equal(t, rule, one.Rule)
			equal(t, scope, one.Scope)
			keys[i] = one.Warehouse + one.Key
		}
		slices.Sort(keys)
		return strings.Join(keys, " "), all
	}
	for _, c := range []struct {
		filter ledger.TextFilter
		want   string
		all    bool
	}{
		{ledger.TextFilter{Spellings: []string{"A-01"}}, `119240["A-01"] 119240["order"] 119241["A-011"]`, true},
		{ledger.TextFilter{Spellings: []string{"a-01", "A-01"}, Warehouses: []string{"119241"}}, `119241["A-011"]`, true},
		{ledger.TextFilter{Spellings: []string{"A-01"}, Warehouses: []string{}}, "", true},
		{ledger.TextFilter{Spellings: []string{"SO-77"}}, `119240["order"]`, true},
		{ledger.TextFilter{Spellings: []string{"a-02", "A-02"}}, `119240[119240,"A-02"]`, true},
		{ledger.TextFilter{Spellings: []string{"none"}}, "", true},
		{ledger.TextFilter{Spellings: []string{"A-01"}, Keys: []string{`["A-01"]`}}, `119240["A-01"] 119240["order"] 119241["A-011"]`, true},
		// A whole key is found even when no time is left for a step.
		{ledger.TextFilter{Spellings: []string{"A-01"}, Keys: []string{`["A-01"]`}, Until: time.Now()}, `119240["A-01"]`, false},
		{ledger.TextFilter{Spellings: []string{"A-01"}, Keys: []string{`["A-01"]`}, Warehouses: []string{"119241"}, Until: time.Now()}, "", false},
	} {
		c.filter.Limit = 10
		if c.filter.Until.IsZero() {
			c.filter.Until = aMinute()
		}
		if got, all := found(c.filter); got != c.want || all != c.all {
			t.Errorf("%+v: found %s, all %v; want %s, %v", c.filter, got, all, c.want, c.all)
		}
	}
	if got, all := found(ledger.TextFilter{Spellings: []string{"C-"}, Limit: 3, Until: aMinute()}); len(strings.Fields(got)) != 3 || all {
		t.Errorf("with a limit of 3 found %s, all %v", got, all)
	}
}

func findItems(t *testing.T, f *fixture) {
	f.begin(t, "", "e1")
	var list []item.Record
	for _, id := range numberedIDs("i_", ledger.LookedAt+5) { // more than one step reads
		one := newItem(id)
		one.DedupeKey, one.Subject, one.Payload = "", "", []byte(`{}`)
		list = append(list, one)
	}
	list[0].DedupeKey = "SO-77"
	list[1].Payload, list[1].Warehouse = []byte(`{"order": "SO-77", "bin": "A-01"}`), "119241"
	list[len(list)-1].Subject = "of SO-771"
	for batch := range slices.Chunk(list, 1000) {
		f.push(t, batch...)
	}
	last := list[len(list)-1].ID
	for _, c := range []struct {
		filter ledger.TextFilter
		want   []string
		all    bool
	}{
		{ledger.TextFilter{Spellings: []string{"SO-77"}, Limit: 10}, []string{"i_00000", last, "i_00001"}, true},
		{ledger.TextFilter{Spellings: []string{"so-77", "SO-77"}, Limit: 2}, []string{"i_00000", last}, false},
		{ledger.TextFilter{Spellings: []string{"SO-77"}, Warehouses: []string{"119241"}, Limit: 10}, []string{"i_00001"}, true},
		{ledger.TextFilter{Spellings: []string{"SO-77"}, Warehouses: []string{}, Limit: 10}, nil, true},
		{ledger.TextFilter{Spellings: []string{"none"}, Limit: 10}, nil, true},
		// A whole key is found even when no time is left for a step.
		{ledger.TextFilter{Spellings: []string{"SO-77"}, Limit: 10, Until: time.Now()}, []string{"i_00000"}, false},
	} {
		if c.filter.Until.IsZero() {
			c.filter.Until = aMinute()
		}
		found, all, err := f.FindItems(t.Context(), queue, c.filter)
		noError(t, err)
		var got []string
		for i := range found {
			equal(t, item.Ready, found[i].State)
			got = append(got, found[i].ID)
		}
		if !slices.Equal(got, c.want) || all != c.all {
			t.Errorf("%+v: found %q, all %v; want %q, %v", c.filter, got, all, c.want, c.all)
		}
	}
	_, all, err := f.FindItems(t.Context(), "nowhere", ledger.TextFilter{Spellings: []string{"SO-77"}, Limit: 1, Until: aMinute()})
	noError(t, err)
	equal(t, true, all)
}
