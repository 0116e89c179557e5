package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

var searchTests = []testCase{
	{"notices are found by their fields, the latest first", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, traced("n_1", 1),
			traced("n_2", 1, func(n *notice.Notice) { n.Warehouse, n.Key, n.Priority = "119241", `["B-07",1]`, 5 })))
		f.commit(t, 2, to(nil, traced("n_3", 2, func(n *notice.Notice) { n.Type, n.Rule, n.Scope = "OTHER", "another", "" }),
			traced("n_4", 2, func(n *notice.Notice) { n.Status, n.Episode, n.Title = notice.Resolved, "7", "not of B-07" })))
		elsewhere, whole := "", scope
		resolved := []notice.Status{notice.Resolved}
		for _, c := range []struct {
			filter ledger.NoticeFilter
			want   string
		}{
			{ledger.NoticeFilter{}, "n_4 n_3 n_2 n_1"},
			{ledger.NoticeFilter{Warehouses: []string{"119241"}}, "n_2"},
			{ledger.NoticeFilter{Warehouses: []string{"119241", warehouse, "nowhere"}}, "n_4 n_3 n_2 n_1"},
			{ledger.NoticeFilter{Types: []string{"OTHER"}}, "n_3"},
			{ledger.NoticeFilter{Types: []string{"NONE", "REP_NOTICE"}}, "n_4 n_2 n_1"},
			{ledger.NoticeFilter{Types: []string{"OTHER"}, Warehouses: []string{"119241"}}, ""},
			{ledger.NoticeFilter{Rule: "another"}, "n_3"},
			{ledger.NoticeFilter{Rule: rule, Scope: &elsewhere}, ""},
			{ledger.NoticeFilter{Rule: "another", Types: []string{"REP_NOTICE"}}, ""},
			{ledger.NoticeFilter{Scope: &elsewhere}, "n_3"},
			{ledger.NoticeFilter{Rule: rule, Scope: &whole}, "n_4 n_2 n_1"},
			{ledger.NoticeFilter{Statuses: resolved}, "n_4"},
			{ledger.NoticeFilter{Statuses: append(resolved, notice.Firing), Types: []string{"REP_NOTICE"}}, "n_4 n_2 n_1"},
			{ledger.NoticeFilter{Key: "B-0"}, "n_2"},
			{ledger.NoticeFilter{Key: `["A"]`}, "n_4 n_3 n_1"},
			{ledger.NoticeFilter{Key: "a"}, ""},
			{ledger.NoticeFilter{Key: "\x00"}, ""},
			{ledger.NoticeFilter{Finding: `["A"]`, Rule: rule, Scope: &whole}, "n_4 n_1"},
			{ledger.NoticeFilter{Finding: `["A"`, Rule: rule, Scope: &whole}, ""},
			{ledger.NoticeFilter{Finding: `["A"]`, Rule: rule, Scope: &whole, Episode: "7"}, "n_4"},
			{ledger.NoticeFilter{Priority: 4}, "n_2"},
			{ledger.NoticeFilter{From: due(2)}, "n_4 n_3"},
			{ledger.NoticeFilter{To: due(2)}, "n_2 n_1"},
			{ledger.NoticeFilter{To: due(2), Rule: rule, Warehouses: []string{warehouse}}, "n_1"},
			{ledger.NoticeFilter{From: due(3)}, ""},
		} {
			c.filter.Limit = 10
			found, err := f.SearchNotices(t.Context(), c.filter)
			noError(t, err)
			oldest := c.filter
			oldest.Oldest = true
			turned, err := f.SearchNotices(t.Context(), oldest)
			noError(t, err)
			back := strings.Fields(searched(turned))
			slices.Reverse(back)
			equal(t, c.want, strings.Join(back, " "))
			if got := searched(found); got != c.want || found.Stopped || found.Next != (ledger.NoticePlace{}) {
				t.Errorf("%+v: found %q (%+v), want %q", c.filter, got, found.Next, c.want)
			}
		}
	}},
	{"notices are found by a text in them", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox},
			traced("n_key", 1, func(n *notice.Notice) { n.Key = `["B-07"]` }),
			traced("n_title", 1, func(n *notice.Notice) { n.Title = "bin B-07 is short" }),
			traced("n_data", 1, func(n *notice.Notice) { n.Data = []notice.Field{{Name: "bin", Value: "B-07"}} }),
			traced("n_zh", 1, func(n *notice.Notice) { n.Texts = map[string]notice.Text{"zh": {Title: "货位 B-07"}} }),
			traced("n_type", 1, func(n *notice.Notice) { n.Labels = map[string]string{"team": "B-07"} })))
		for _, c := range []struct {
			spellings []string
			want      string
		}{
			{[]string{"B-07"}, "n_zh n_title n_key n_data"},
			{[]string{"b-07", "B-07"}, "n_zh n_title n_key n_data"},
			{[]string{"b-07"}, ""},
			{[]string{"货位"}, "n_zh"},
			{[]string{"none", "short"}, "n_title"},
			{[]string{"\x00"}, ""},
		} {
			found, err := f.SearchNotices(t.Context(), ledger.NoticeFilter{Spellings: c.spellings, Limit: 10})
			noError(t, err)
			if got := strings.Fields(searched(found)); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(strings.Fields(c.want)))) {
				t.Errorf("%q: found %q, want %q", c.spellings, got, c.want)
			}
		}
	}},
	{"open findings are found by a text in their keys or rows", findFindings},
	{"items are found by a text in their keys or payloads", findItems},
	{"pages of a search go on where the one before ended, whatever comes meanwhile", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		const batch = 7
		var want []string
		for n := 1; n <= 3; n++ {
			list := numbered(fmt.Sprintf("n_%d", n), batch)
			for _, one := range list {
				one.CreatedAt = due(n)
				want = append(want, one.ID)
			}
			// Notices without deliveries are ordered by id only.
			f.commit(t, n, to([][]ledger.Target{nil, {inbox}}[n%2], list...))
		}
		slices.Reverse(want)
		for _, filter := range []ledger.NoticeFilter{
			{}, {Rule: rule}, {Types: []string{"REP_NOTICE", "OTHER"}}, {Warehouses: []string{warehouse}}, {From: due(1), To: due(4)},
		} {
			filter.Limit = 4
			var got []string
			for page := 0; page < 2*len(want); page++ {
				found, err := f.SearchNotices(t.Context(), filter)
				noError(t, err)
				got = append(got, strings.Fields(searched(found))...)
				if found.Next == (ledger.NoticePlace{}) {
					break
				}
				filter.Before = found.Next
				if page == 0 && filter.To.IsZero() && filter.Rule == "" {
					late := newNotice("n_late_" + strings.Join(append(filter.Types, filter.Warehouses...), ""))
					late.CreatedAt = due(9)
					_, err := f.Send(t.Context(), to([]ledger.Target{inbox}, late))
					noError(t, err)
				}
			}
			equal(t, want, slices.DeleteFunc(got, func(id string) bool { return strings.HasPrefix(id, "n_late") }))
		}
	}},
	{"a page that is full ends where nothing follows", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to(nil, numbered("n_", 4)...))
		found, err := f.SearchNotices(t.Context(), ledger.NoticeFilter{Limit: 4})
		noError(t, err)
		equal(t, "n_00003 n_00002 n_00001 n_00000", searched(found))
		equal(t, ledger.NoticePlace{}, found.Next)
	}},
	{"the run that made a notice is found by their time", func(t *testing.T, f *fixture) {
		f.register(t)
		_, err := f.RunAt(t.Context(), rule, scope, due(9))
		isError(t, ledger.ErrNotFound, err)
		f.commit(t, 1, nil)
		f.commit(t, 2, nil)
		f.skip(t, 0, 3, "a", "busy")
		for _, c := range []struct {
			at  time.Time
			due time.Time
		}{
			{due(1).Add(time.Second), due(1)}, {due(2), due(1)}, {due(2).Add(time.Second), due(2)}, {due(4), due(2)},
		} {
			got, err := f.RunAt(t.Context(), rule, scope, c.at)
			noError(t, err)
			equal(t, c.due, got.Due)
		}
		all, err := f.Runs(t.Context(), rule, nil, 10)
		noError(t, err)
		got, err := f.RunAt(t.Context(), rule, scope, due(4))
		noError(t, err)
		equal(t, all[1], got)
		for _, c := range [][2]string{{"another", scope}, {rule, "elsewhere"}} {
			_, err = f.RunAt(t.Context(), c[0], c[1], due(9))
			isError(t, ledger.ErrNotFound, err)
		}
		_, err = f.RunAt(t.Context(), rule, scope, due(1))
		isError(t, ledger.ErrNotFound, err)
	}},
}

// searched returns the ids of the page.
func searched(found ledger.NoticePage) string {
	var ids []string
	for _, n := range found.Notices {
		ids = append(ids, n.ID)
	}
	return strings.Join(ids, " ")
}
