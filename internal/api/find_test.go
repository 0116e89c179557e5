package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/finding"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

const findPath = "/api/v1/find"

func TestFind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := bin().CreatedAt
	b.deliveries.found = ledger.NoticePage{Notices: []*notice.Notice{bin().Notice}}
	b.deliveries.opened = []ledger.FoundFinding{
		{Rule: "negative-bin-stock", Scope: "119240", Warehouse: "119240", State: finding.State{
			Key: `["A-01"]`, Phase: finding.Firing, Episode: at, FiringSince: at.Add(-time.Minute), Priority: 4, NoticeID: "n_1",
		}},
		{Rule: "short-pick", Scope: "119240", Warehouse: "119240", State: finding.State{Key: `["A-01",7]`, Phase: finding.Pending, Episode: at}},
	}
	b.deliveries.items = []item.Record{{
		New: item.New{ID: "i_1", Warehouse: "119240", Priority: 4, DedupeKey: "A-01", Subject: `short-pick 119240 ["A-01"]`, Created: at}, State: item.Leased,
	}}
	golden(t, "found.json", b.get(t, findPath+"?q=A-01").body)
	golden(t, "found.xml", b.get(t, findPath+"?q=A-01", "Accept", "application/xml").body)
	b.deliveries.cut, b.deliveries.found.Next = true, ledger.NoticePlace{ID: "n_2"}
	if got := b.get(t, findPath+"?q=A-01").body; !strings.Contains(got, `"more":["notices","findings","items"]`) {
		t.Errorf("what there is more of: %s", got)
	}
	b.deliveries.found, b.deliveries.opened, b.deliveries.items, b.deliveries.cut = ledger.NoticePage{}, nil, nil, false
	if got := b.get(t, findPath+"?q=A-01").body; strings.TrimSpace(got) != `{"notices":[],"findings":[],"items":[],"more":[]}` {
		t.Errorf("nothing is %s", got)
	}
	b.deliveries.err = errBroken
	if p := b.get(t, findPath+"?q=A-01").asProblem(t); p.Code != "ledger_unavailable" {
		t.Errorf("%+v", p)
	}
}

func TestFindAsksForSpellingsAndWholeKeys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ledger.TextFilter{
		"A-01":     {Spellings: []string{"A-01"}, Keys: []string{`["A-01"]`}, Limit: 20},
		" a-01 ":   {Spellings: []string{"a-01", "A-01"}, Keys: []string{`["a-01"]`, `["A-01"]`}, Limit: 20},
		"10012":    {Spellings: []string{"10012"}, Keys: []string{`["10012"]`, "[10012]"}, Limit: 20},
		`["A-01"]`: {Spellings: []string{`["A-01"]`}, Keys: []string{`["[\"A-01\"]"]`, `[["A-01"]]`, `["A-01"]`}, Limit: 20},
		"货位":       {Spellings: []string{"货位"}, Keys: []string{`["货位"]`}, Limit: 20},
	} {
		b := setup(t)
		b.get(t, findPath+"?q="+url.QueryEscape(text))
		if diff := cmp.Diff([]ledger.TextFilter{want}, b.deliveries.finds); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
		if got := b.deliveries.sought[0]; !cmp.Equal(got, ledger.NoticeFilter{Spellings: want.Spellings, Limit: 20}) {
			t.Errorf("%q: notices by %+v", text, got)
		}
	}
	b := setup(t)
	for _, text := range []string{"A", " A ", "位", strings.Repeat("A", 201)} {
		if got := b.get(t, findPath+"?q="+url.QueryEscape(text)); got.status != http.StatusBadRequest {
			t.Errorf("%q: %d %s", text, got.status, got.body)
		}
	}
}

func TestWhatIsFoundIsOfOnesOwnWarehouses(t *testing.T) {
	t.Parallel()
	b := newBundle(asPeople, func(d *parts) {
		who := somePeople()
		nowhere := who["site"]
		nowhere.Warehouses = nil
		who["lost"] = nowhere
		d.Auth = who
	})
	b.ask(t, []asking{
		{"site", "GET", "/find?q=A-01", "", 200, ""},
		{"site", "GET", "/find?q=A-01&warehouse=119240", "", 200, ""},
		{"site", "GET", "/find?q=A-01&warehouse=119240&warehouse=W1", "", 403, "warehouse_denied"},
		{"lost", "GET", "/find?q=A-01", "", 403, "warehouse_denied"},
		{"client", "GET", "/find?q=A-01", "", 403, "role_missing"},
		{"viewer", "GET", "/find?q=A-01", "", 200, ""},
	})
	for i, want := range [][]string{{"119240"}, {"119240"}, nil} {
		if got := b.deliveries.finds[i].Warehouses; !cmp.Equal(want, got) {
			t.Errorf("question %d: findings of %q", i, got)
		}
		if got := b.deliveries.sought[i].Warehouses; !cmp.Equal(want, got) {
			t.Errorf("question %d: notices of %q", i, got)
		}
	}
}
