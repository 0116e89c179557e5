package api_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/notice"
	"tallyman/sinks/inbox/page"
)

func TestPollForms(t *testing.T) {
	t.Parallel()
	full := onePage()
	full.Changes = []page.Change{{ID: "n_old", Kind: "read"}}
	full.Unread, full.UnreadMore, full.More = 999, true, true
	full.Reset, full.Reason, full.Missed = true, page.ResetTrimmed, 2134
	for name, tc := range map[string]struct {
		page   page.Page
		accept string
		ctype  string
	}{
		"page.json":  {onePage(), "", "application/json"},
		"page.xml":   {onePage(), "application/xml", "application/xml; charset=utf-8"},
		"full.json":  {full, "*/*", "application/json"},
		"full.xml":   {full, "text/xml", "text/xml; charset=utf-8"},
		"empty.json": {page.Page{Version: "v0", Cursor: "c0"}, "application/json", "application/json"},
		"empty.xml":  {page.Page{Version: "v0", Cursor: "c0"}, "application/xml", "application/xml; charset=utf-8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.inbox.put(tc.page)
			got := b.get(t, pollPath, "Accept", tc.accept)
			if got.status != http.StatusOK || got.header.Get("Content-Type") != tc.ctype {
				t.Errorf("status %d, type %q", got.status, got.header.Get("Content-Type"))
			}
			golden(t, name, got.body)
			checkPollHeader(t, got)
		})
	}
}

func checkPollHeader(t *testing.T, got answer) {
	t.Helper()
	for name, want := range map[string]string{
		"Vary": "Accept, Accept-Language, Authorization", "Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.header.Get(name), want)
		}
	}
	if got.header.Get("ETag") == "" || got.header.Get("X-Request-Id") == "" {
		t.Errorf("no ETag or request id in %v", got.header)
	}
}

func TestPollPassesTheQuery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.get(t, "/api/v1/notices?subscriber=user:9&subscriber=role%3Akeeper&warehouse=W-1.a_b&type=B&type=A&type=B&limit=200&after=abc&unread=&wait=0s&since=")
	b.get(t, "/api/v1/notices?warehouse=1&subscriber=user:a@b.c&since=1780272600000&after=")
	want := []page.Query{
		{Warehouse: "W-1.a_b", Subscribers: []string{"role:keeper", "user:9"}, Types: []string{"A", "B"}, After: "abc", Limit: 200},
		{Warehouse: "1", Subscribers: []string{"user:a@b.c"}, Since: 1780272600000, Limit: 50},
	}
	if diff := cmp.Diff(want, b.inbox.asked()); diff != "" {
		t.Error(diff)
	}
}

func TestPollSpeaksTheClientsLanguage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.inbox.put(onePage())
	english, chinese := b.get(t, pollPath), b.get(t, pollPath, "Accept-Language", "fr;q=0.9, zh-CN;q=0.8, *;q=0.1")
	title := func(a answer) string { return decodePage(t, a.body).Notices[0].Title }
	if got := title(english); got != "Bin A-01 is at -3" {
		t.Errorf("without a language: %q", got)
	}
	if got := title(chinese); got != "货位 A-01 为 -3" {
		t.Errorf("in Chinese: %q", got)
	}
	if english.header.Get("ETag") == chinese.header.Get("ETag") {
		t.Error("two languages share an ETag")
	}
	if n := bin(); n.Title != "Bin A-01 is at -3" {
		t.Errorf("the shared notice was changed to %q", n.Title)
	}
}

func TestETag(t *testing.T) {
	b := setup(t)
	b.inbox.put(onePage())
	first := b.get(t, pollPath)
	tag := first.header.Get("ETag")
	after := pollPath + "&after=c1"
	for name, tc := range map[string]struct {
		path   string
		header []string
		status int
	}{
		"the same again":           {pollPath, []string{"If-None-Match", tag}, http.StatusNotModified},
		"weak":                     {pollPath, []string{"If-None-Match", "W/" + tag}, http.StatusNotModified},
		"one of several":           {pollPath, []string{"If-None-Match", `"other", ` + tag}, http.StatusNotModified},
		"on two lines":             {pollPath, []string{"If-None-Match", `"other"`, "If-None-Match", tag}, http.StatusNotModified},
		"with the page's cursor":   {after, []string{"If-None-Match", tag}, http.StatusNotModified},
		"with another cursor":      {pollPath + "&after=c0", []string{"If-None-Match", tag}, http.StatusOK},
		"of another form":          {pollPath, []string{"If-None-Match", tag, "Accept", "application/xml"}, http.StatusOK},
		"of another language":      {pollPath, []string{"If-None-Match", tag, "Accept-Language", "zh"}, http.StatusOK},
		"of another warehouse":     {"/api/v1/notices?warehouse=2&subscriber=user:1", []string{"If-None-Match", tag}, http.StatusOK},
		"of another subscriber":    {"/api/v1/notices?warehouse=119240&subscriber=user:2", []string{"If-None-Match", tag}, http.StatusOK},
		"with one subscriber more": {pollPath + "&subscriber=role:k", []string{"If-None-Match", tag}, http.StatusOK},
		"with a filter":            {pollPath + "&type=A", []string{"If-None-Match", tag}, http.StatusOK},
		"nonsense":                 {pollPath, []string{"If-None-Match", `v1-0000000000000000-0000000000000000, "", ", x`}, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			got := b.get(t, tc.path, tc.header...)
			if got.status != tc.status {
				t.Fatalf("status %d, want %d", got.status, tc.status)
			}
			checkPollHeader(t, got)
			if tc.status == http.StatusNotModified && (got.header.Get("ETag") != tag || got.body != "") {
				t.Errorf("the 304 has ETag %q and body %q", got.header.Get("ETag"), got.body)
			}
		})
	}
	next := onePage()
	next.Version = "v2"
	b.inbox.put(next)
	if got := b.get(t, pollPath, "If-None-Match", tag); got.status != http.StatusOK || got.header.Get("ETag") == tag {
		t.Errorf("after a change: status %d, ETag %q", got.status, got.header.Get("ETag"))
	}
}

func TestETagOfAFullPageDoesNotHideTheNext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pg := onePage()
	pg.More = true
	b.inbox.put(pg)
	tag := b.get(t, pollPath).header.Get("ETag")
	if got := b.get(t, pollPath+"&after=c1", "If-None-Match", tag); got.status != http.StatusOK {
		t.Errorf("the page after one with more behind it: status %d", got.status)
	}
}

func TestPollOutcomesAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tag := b.get(t, pollPath).header.Get("ETag")
	b.get(t, pollPath, "If-None-Match", tag)
	b.inbox.put(onePage())
	b.get(t, pollPath)
	b.get(t, pollPath+"&limit=0")
	b.inbox.fail(page.ErrUnavailable)
	b.get(t, pollPath)
	b.inbox.fail(page.ErrBadCursor)
	b.get(t, pollPath)
	b.inbox.fail(errBroken)
	b.get(t, pollPath)
	want := []string{"empty", "not_modified", "notices", "refused", "unavailable", "refused", "failed"}
	if got := b.meter.all(); !slices.Equal(got, want) {
		t.Errorf("outcomes %v, want %v", got, want)
	}
}

func TestNoticesWithStrangeTextsStayWellFormed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := bin()
	v.Title = "a\x00b\u2028</notice>&lt;]]>\"'"
	v.Data = []notice.Field{{Name: "qty", Value: nil}, {Name: "ok", Value: true}, {Name: "n", Value: int64(1 << 53)}}
	b.inbox.put(page.Page{Notices: []notice.View{v}, Version: "v1", Cursor: "c"})
	golden(t, "strange.json", b.get(t, pollPath).body)
	golden(t, "strange.xml", b.get(t, pollPath, "Accept", "application/xml").body)
}
