package api_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

const searchPath = "/api/v1/notices/search"

func TestNoticeSearch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deliveries.found = ledger.NoticePage{
		Notices: []*notice.Notice{bin().Notice}, Next: ledger.NoticePlace{At: bin().CreatedAt, N: 7, ID: "n_abc"}, Stopped: true,
	}
	golden(t, "notice_search.json", b.get(t, searchPath).body)
	golden(t, "notice_search.xml", b.get(t, searchPath, "Accept", "application/xml").body)
	if got := b.get(t, searchPath, "Accept-Language", "zh"); !strings.Contains(got.body, "货位 A-01 为 -3") || !strings.Contains(got.header.Get("Vary"), "Accept-Language") {
		t.Errorf("%v %s", got.header, got.body)
	}
	b.deliveries.found = ledger.NoticePage{}
	if got := b.get(t, searchPath); strings.TrimSpace(got.body) != `{"notices":[]}` {
		t.Errorf("nothing is %s", got.body)
	}
	b.deliveries.err = errBroken
	if p := b.get(t, searchPath).asProblem(t); p.Code != "ledger_unavailable" {
		t.Errorf("%+v", p)
	}
}

func TestNoticeSearchFilters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	scope, key := "119240", `[119240,"A-01"]`
	at := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	place := ledger.NoticePlace{At: time.UnixMicro(1780272600000001).UTC(), N: 0, ID: "n_1.2"}
	for query, want := range map[string]ledger.NoticeFilter{
		"": {Limit: 50},
		"warehouse=119240&warehouse=119241&warehouse=&type=A&type=B&limit=200":                                         {Warehouses: []string{"119240", "119241"}, Types: []string{"A", "B"}, Limit: 200},
		"rule=r&scope=119240&key=A-01":                                                                                 {Rule: "r", Scope: &scope, Key: "A-01", Limit: 50},
		"rule=r&scope=119240&key=" + url.QueryEscape(key):                                                              {Rule: "r", Scope: &scope, Key: key, Finding: key, Limit: 50},
		"rule=r&scope=119240&key=" + url.QueryEscape(key[:9]):                                                          {Rule: "r", Scope: &scope, Key: key[:9], Limit: 50},
		"scope=119240&key=" + url.QueryEscape(key):                                                                     {Scope: &scope, Key: key, Limit: 50},
		"status=resolved&status=event&priority=4":                                                                      {Statuses: []notice.Status{notice.Resolved, notice.Event}, Priority: 4, Limit: 50},
		"from=2026-06-01T00:00:00Z&to=2026-06-01T10:00:00%2B08:00":                                                     {From: at, To: at.Add(2 * time.Hour), Limit: 50},
		"after=" + strconv.FormatInt(place.At.UnixMicro(), 36) + "." + strconv.FormatInt(place.N, 36) + "." + place.ID: {Before: place, Limit: 50},
	} {
		if got := b.get(t, searchPath+"?"+query); got.status != 200 {
			t.Errorf("%s: %d %s", query, got.status, got.body)
			continue
		}
		if diff := cmp.Diff(want, b.deliveries.sought[len(b.deliveries.sought)-1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	for query, code := range map[string]string{
		"warehouse=a%20b": "invalid_parameter", "type=%00": "bad_text", "rule=a/b": "invalid_parameter", "status=lost": "invalid_parameter",
		"priority=6": "invalid_parameter", "priority=10": "invalid_parameter", "key=%ff": "bad_text", "scope=%00": "bad_text", "key=%E2%80%AE": "bad_text",
		"key=" + strings.Repeat("x", 1001): "invalid_parameter", "from=yesterday": "invalid_parameter", "to=1969-01-01T00:00:00Z": "invalid_parameter",
		"limit=0": "bad_limit", "limit=201": "bad_limit", "after=x": "bad_cursor", "after=1.0.a%20b": "bad_cursor", "after=01.0.n": "bad_cursor",
		"text=x": "unknown_parameter", "warehouse=W" + strings.Repeat("&warehouse=W", 100): "invalid_parameter",
	} {
		if got := b.get(t, searchPath+"?"+query); got.status != 400 || got.asProblem(t).Code != code {
			t.Errorf("%s: %d %s, want %s", query, got.status, got.body, code)
		}
	}
}

func TestSearchesStayInOnesOwnWarehouses(t *testing.T) {
	t.Parallel()
	b := newBundle(asPeople, func(d *parts) {
		who := somePeople()
		nowhere := who["site"]
		nowhere.Warehouses = nil
		who["lost"] = nowhere
		d.Auth = who
	})
	b.ask(t, []asking{
		{"site", "GET", "/notices/search", "", 200, ""},
		{"site", "GET", "/notices/search?warehouse=119240", "", 200, ""},
		{"site", "GET", "/notices/search?warehouse=119240&warehouse=W1", "", 403, "warehouse_denied"},
		{"lost", "GET", "/notices/search", "", 403, "warehouse_denied"},
		{"client", "GET", "/notices/search", "", 403, "role_missing"},
	})
	for _, q := range b.deliveries.sought {
		if len(q.Warehouses) != 1 || q.Warehouses[0] != "119240" {
			t.Errorf("searched in %q", q.Warehouses)
		}
	}
	b.ask(t, []asking{{"viewer", "GET", "/notices/search", "", 200, ""}})
	if q := b.deliveries.sought[2]; q.Warehouses != nil {
		t.Errorf("who sees all has searched in %q", q.Warehouses)
	}
}
