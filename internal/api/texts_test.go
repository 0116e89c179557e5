package api_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"tallyman/internal/notice"
	"tallyman/internal/text/texttest"
	"tallyman/sinks/inbox/page"
)

// oddNotice has every odd text in every place.
func oddNotice() notice.View {
	v := bin()
	odd := strings.ToValidUTF8(texttest.All(), "\uFFFD") // as a ledger gives it
	v.Type, v.Rule, v.Scope, v.Key, v.Title, v.Body, v.Modal = odd, odd, odd, odd, odd, odd, odd
	v.Texts = map[string]notice.Text{"zh": {Title: odd, Body: odd}}
	v.Data = []notice.Field{{Name: "bin", Value: odd}}
	v.Labels = map[string]string{"area": odd}
	return v
}

// Whatever a notice holds, a poll in each form parses: JSON has the raw texts, XML has marks.
func TestAnswersCarryWhateverIsStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := oddNotice()
	b.inbox.put(page.Page{Notices: []notice.View{v}, Version: "v1", Cursor: "c", Settled: math.MaxInt64})
	for _, language := range []string{"", "zh"} {
		got := b.get(t, pollPath, "Accept-Language", language).body
		texttest.Visible(t, "JSON", got)
		var pg struct {
			Notices []struct{ Title, Body, Key string }
		}
		if err := json.Unmarshal([]byte(got), &pg); err != nil || len(pg.Notices) != 1 {
			t.Fatalf("JSON: %v, %s", err, got)
		}
		if n := pg.Notices[0]; n.Title != v.Title || n.Body != v.Body || n.Key != v.Key {
			t.Errorf("JSON does not carry the raw text: %q", n.Title)
		}
		for _, path := range []string{pollPath, legacyPath + "?whId=119240&subscriberIdList=1"} {
			got := b.get(t, path, "Accept", "application/xml", "Accept-Language", language).body
			texttest.Marked(t, "XML", charData(t, got))
			texttest.Visible(t, "XML", got)
		}
	}
	b.inbox.put(page.Page{Notices: []notice.View{v}, Version: "v1", Cursor: someCursor})
	for e := range b.listen(t, streamPath).events {
		texttest.Visible(t, "a stream", e.data)
		if e.name != "notice" {
			continue
		}
		var n struct {
			Title string `json:"title"`
		}
		if err := json.Unmarshal([]byte(e.data), &n); err != nil || n.Title != v.Title {
			t.Errorf("a stream: %v, %q", err, n.Title)
		}
		break
	}
}

// charData reads XML to its end and returns its texts.
func charData(t *testing.T, src string) string {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(src))
	var b strings.Builder
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatalf("%v in %.500q", err, src)
		}
		if data, ok := token.(xml.CharData); ok {
			b.Write(data)
		}
		if start, ok := token.(xml.StartElement); ok {
			for _, a := range start.Attr {
				b.WriteString(a.Value)
			}
		}
	}
}

// Parameters of query and path are held to the policy, wherever they are read; the problem names the place.
func TestParametersFollowThePolicyOfTexts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, odd := range []string{"a\x00", "\x1b", "a\nb", "\t", "\x7f", "\u0085", "\u202e", "\u2069", "\xff", "\xed\xa0\x80"} {
		q := url.QueryEscape(odd)
		for path, at := range map[string]string{
			pollPath + "&type=" + q:                                     "query.type",
			"/api/v1/notices?warehouse=" + q:                            "query.warehouse",
			"/api/v1/notices/stream?subscriber=" + q:                    "query.subscriber",
			legacyPath + "?whId=" + q:                                   "query.whId",
			"/api/v1/notices/search?key=" + q:                           "query.key",
			"/api/v1/find?q=" + q:                                       "query.q",
			"/api/v1/notices/search?" + q + "=1":                        "query",
			"/api/v1/audit?by=" + q:                                     "query.by",
			"/api/v1/overview/stream?warehouse=" + q:                    "query.warehouse",
			"/api/v1/rules/r/why?key=" + q:                              "query.key",
			"/api/v1/rules/" + url.PathEscape(odd):                      "path.id",
			"/api/v1/types/" + url.PathEscape(odd):                      "path.code",
			"/api/v1/sinks/" + url.PathEscape(odd):                      "path.sink",
			"/api/v1/subscribers/user:" + url.PathEscape(odd):           "path.id",
			"/api/v1/queues/replenishment/items/" + url.PathEscape(odd): "path.id",
		} {
			for _, accept := range []string{"*/*", "application/xml, text/event-stream"} {
				got := b.get(t, path, "Accept", accept)
				if got.status != http.StatusBadRequest || !strings.Contains(got.body, "bad_text") || !strings.Contains(got.body, at) {
					t.Errorf("%s: %d %.300s, want bad_text at %s", path, got.status, got.body, at)
				}
				texttest.Visible(t, path, got.body)
			}
		}
	}
	for _, fine := range []string{"a\u200db", "\u200e\u200f", "货位"} {
		if got := b.get(t, "/api/v1/notices/search?key="+url.QueryEscape(fine)); got.status != http.StatusOK {
			t.Errorf("%+q: %d %s", fine, got.status, got.body)
		}
	}
	if got := b.do(t, http.MethodDelete, "/api/v1/queues/replenishment/items/a?note="+url.QueryEscape("one\r\n\ttwo"), ""); got.status == http.StatusBadRequest {
		t.Errorf("a note of two lines: %d %s", got.status, got.body)
	}
}

// A finding whose key has what cannot be asked for as it is, is asked for by an escape.
func TestSearchTakesEscapesInKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for asked, want := range map[string]string{
		`["A\u0085"]`: "[\"A\u0085\"]", `[ 1, "A\u0041" ]`: `[1,"AA"]`, `["\u0000\udcff"]`: `["\u0000\udcff"]`,
	} {
		got := b.get(t, "/api/v1/notices/search?rule=r&scope=s&key="+url.QueryEscape(asked))
		if sought := b.deliveries.sought; got.status != http.StatusOK || len(sought) == 0 || sought[len(sought)-1].Finding != want {
			t.Errorf("%s: %d %s, want %s", asked, got.status, got.body, want)
		}
	}
}
