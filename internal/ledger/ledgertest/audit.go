package ledgertest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"tallyman/internal/ledger"
)

var auditTests = []testCase{
	{"changes are listed as they were recorded, the latest first", func(t *testing.T, f *fixture) {
		full := ledger.Change{
			By: "user:ann", Via: ledger.ViaToken("t_1"), Action: "rule.disable", Object: "rule:a:119240",
			Before: json.RawMessage(`{"enabled":true}`), After: json.RawMessage(`{"enabled":false,"reason":"<é>"}`), Reason: "stocktake",
		}
		bare := ledger.Change{By: "node:one", Via: ledger.ViaFile, Action: "rules.reload", Object: "rules"}
		noError(t, f.AddChange(t.Context(), &full))
		f.clock.Add(time.Minute)
		noError(t, f.other(t).AddChange(t.Context(), &bare))
		got := f.changes(t, ledger.ChangeFilter{})
		equal(t, 2, len(got))
		if got[0].Seq <= got[1].Seq {
			t.Errorf("the later one has the number %d, the earlier one %d", got[0].Seq, got[1].Seq)
		}
		full.Seq, full.At, bare.Seq, bare.At = got[1].Seq, start, got[0].Seq, start.Add(time.Minute)
		equal(t, []ledger.Change{bare, full}, got)
	}},
	{"changes are found by object, kind, who, action and time, page by page", func(t *testing.T, f *fixture) {
		for i, c := range []ledger.Change{
			{By: "user:ann", Action: "rule.disable", Object: "rule:a"},
			{By: "user:bo", Action: "rule.enable", Object: "rule:a:119240"},
			{By: "user:ann", Action: "rule.disable", Object: "rule:ab"},
			{By: "user:ann", Action: "type.put", Object: "type:A_%"},
			{By: "user:bo", Action: "rules.reload", Object: "rules"},
		} {
			c.Via, c.Reason = ledger.ViaNone, fmt.Sprint(i)
			noError(t, f.AddChange(t.Context(), &c))
			f.clock.Add(time.Second)
		}
		for _, c := range []struct {
			filter ledger.ChangeFilter
			want   []string
		}{
			{ledger.ChangeFilter{}, []string{"4", "3", "2", "1", "0"}},
			{ledger.ChangeFilter{Object: "rule:a"}, []string{"1", "0"}},
			{ledger.ChangeFilter{Object: "rule"}, []string{"2", "1", "0"}},
			{ledger.ChangeFilter{Object: "type:A_%"}, []string{"3"}},
			{ledger.ChangeFilter{By: "user:bo"}, []string{"4", "1"}},
			{ledger.ChangeFilter{Action: "rule"}, []string{"2", "1", "0"}},
			{ledger.ChangeFilter{Action: "rule.disable", By: "user:ann", Object: "rule:ab"}, []string{"2"}},
			{ledger.ChangeFilter{Since: start.Add(3 * time.Second)}, []string{"4", "3"}},
			{ledger.ChangeFilter{Object: "none"}, nil},
		} {
			equal(t, c.want, reasonsOf(f.changes(t, c.filter)))
		}
		var paged []string
		page := ledger.ChangeFilter{Limit: 2}
		for list := f.changes(t, page); len(list) > 0; list = f.changes(t, page) {
			paged = append(paged, reasonsOf(list)...)
			page.Before = list[len(list)-1].Seq
		}
		equal(t, []string{"4", "3", "2", "1", "0"}, paged)
	}},
	{"changes outlive the retention", func(t *testing.T, f *fixture) {
		noError(t, f.AddChange(t.Context(), &ledger.Change{By: "user:ann", Via: ledger.ViaNone, Action: "rule.run", Object: "rule:a"}))
		_, err := f.Prune(t.Context(), start.Add(10*365*24*time.Hour), 0)
		noError(t, err)
		equal(t, 1, len(f.changes(t, ledger.ChangeFilter{})))
	}},
}

// Ann asks for most of the changes of tests.
var Ann = author("user:ann")

// author is somebody who asks for a change, with a token.
func author(who string) ledger.Author { return ledger.Author{By: who, Via: ledger.ViaToken("t_1")} }

func (f *fixture) changes(t testing.TB, filter ledger.ChangeFilter) []ledger.Change {
	t.Helper()
	if filter.Limit == 0 {
		filter.Limit = 1000
	}
	list, more, err := f.Changes(t.Context(), filter)
	noError(t, err)
	if more && filter.Limit == 1000 {
		t.Fatal("there are more records than a page has")
	}
	return list
}

func reasonsOf(list []ledger.Change) []string {
	var reasons []string
	for _, c := range list {
		reasons = append(reasons, c.Reason)
	}
	return reasons
}
