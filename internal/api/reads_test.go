package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tallyman/internal/auth"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/sinks/inbox/page"
)

func TestMarksReachTheInbox(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const asked = "?warehouse=119240&subscriber=role:keeper&subscriber=user:1"
	for _, broken := range []error{nil, page.ErrUnavailable} {
		b.reads.err = broken // the ledger has the mark, so it is answered all the same
		for _, kind := range []string{"read", "ack"} {
			if got := b.do(t, http.MethodPost, "/api/v1/notices/n_abc/"+kind+asked, ""); got.status != http.StatusNoContent {
				t.Errorf("%s: %d %s", kind, got.status, got.body)
			}
		}
	}
	read := delivery.Mark{Notice: "n_abc", Warehouse: "119240", User: "user:1"}
	acked := read
	acked.Acked = true
	if diff := cmp.Diff([]delivery.Mark{read, acked, read, acked}, b.reads.marks, cmpopts.IgnoreFields(delivery.Mark{}, "At")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !strings.Contains(b.log.String(), "Mark is in the ledger, but not yet in the inbox.") {
		t.Errorf("the log: %s", b.log)
	}
}

func TestReadAll(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := `{"warehouse":"119240","upTo":"c70","subscribers":["user:1","role:keeper"]}`
	if got := b.do(t, http.MethodPost, "/api/v1/notices/read-all", body, "Content-Type", "application/json"); got.status != http.StatusNoContent || got.body != "" {
		t.Fatalf("%d %s", got.status, got.body)
	}
	inboxes := []string{"role:keeper", "user:1"}
	want := []ledger.ReadAll{{Warehouse: "119240", User: "user:1", Inboxes: inboxes, UpTo: 70}}
	if diff := cmp.Diff(want, b.marks.all, cmpopts.IgnoreFields(ledger.ReadAll{}, "At")); diff != "" {
		t.Errorf("the ledger: -want +got\n%s", diff)
	}
	told := []delivery.Watermark{
		{Warehouse: "119240", User: "user:1", Inbox: "role:keeper", Score: 70, At: b.marks.all[0].At},
		{Warehouse: "119240", User: "user:1", Inbox: "user:1", Score: 70, At: b.marks.all[0].At},
	}
	if diff := cmp.Diff(told, b.reads.all); diff != "" {
		t.Errorf("the inbox: -want +got\n%s", diff)
	}
	for body, want := range map[string]struct {
		status int
		code   string
	}{
		`{"warehouse":"119240","upTo":"x","subscribers":["user:1"]}`:              {400, "bad_cursor"},
		`{"warehouse":"119240","upTo":"elsewhere","subscribers":["user:1"]}`:      {400, "foreign_cursor"},
		`{"warehouse":"119240","upTo":"later","subscribers":["user:1"]}`:          {503, "inbox_unavailable"},
		`{"warehouse":"119240","upTo":"broken","subscribers":["user:1"]}`:         {500, "internal_error"},
		`{"warehouse":"119240","subscribers":["user:1"]}`:                         {422, "invalid_body"},
		`{"warehouse":"119240","upTo":"","subscribers":["user:1"]}`:               {422, "invalid_body"},
		`{"upTo":"c70","subscribers":["user:1"]}`:                                 {400, "missing_parameter"},
		`{"warehouse":"a/b","upTo":"c70","subscribers":["user:1"]}`:               {400, "bad_warehouse"},
		`{"warehouse":"119240","upTo":"c70"}`:                                     {400, "missing_parameter"},
		`{"warehouse":"119240","upTo":"c70","subscribers":["role:keeper"]}`:       {400, "bad_subscriber"},
		`{"warehouse":"119240","upTo":"c70","subscribers":["user:1","user:2"]}`:   {400, "bad_subscriber"},
		`{"warehouse":"119240","upTo":"c70","subscribers":["user:1"],"types":[]}`: {422, "invalid_body"},
	} {
		got := b.do(t, http.MethodPost, "/api/v1/notices/read-all", body, "Content-Type", "application/json")
		if p := got.asProblem(t); got.status != want.status || p.Code != want.code {
			t.Errorf("%s: %d %s (%s), want %d %s", body, got.status, p.Code, p.Detail, want.status, want.code)
		}
	}
	b.marks.err = errBroken
	if got := b.do(t, http.MethodPost, "/api/v1/notices/read-all", body, "Content-Type", "application/json"); got.status != 503 {
		t.Errorf("the ledger is away: %d %s", got.status, got.body)
	}
	if len(b.marks.all) != 1 || len(b.reads.all) != 2 {
		t.Errorf("what was refused was recorded: %v, %v", b.marks.all, b.reads.all)
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	b := setup(t)
	popup := notice.View{Notice: &notice.Notice{ID: "n_popup", Modal: "popup", Title: "Fire"}, Read: true}
	b.reads.sum = page.Summary{Unread: 3, Popups: []notice.View{popup}, Latest: []notice.View{{Notice: &notice.Notice{ID: "n_2"}}, popup}}
	const path = "/api/v1/notices/summary?warehouse=119240&subscriber=user:1&subscriber=role:keeper"
	var sum struct {
		Unread                 int
		UnreadMore, PopupsMore *bool
		Popups, Latest         []struct {
			ID   string
			Read bool
		}
		Rules struct{ OK, Failing int }
	}
	got := b.do(t, http.MethodGet, path, "")
	if err := json.Unmarshal([]byte(got.body), &sum); err != nil {
		t.Fatal(err)
	}
	if got.status != 200 || sum.Unread != 3 || sum.UnreadMore == nil || *sum.UnreadMore || len(sum.Popups) != 1 || !sum.Popups[0].Read ||
		len(sum.Latest) != 2 || sum.Latest[0].ID != "n_2" || sum.Rules.OK != 7 || sum.Rules.Failing != 1 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if diff := cmp.Diff(page.Query{Warehouse: "119240", Subscribers: []string{"role:keeper", "user:1"}}, b.reads.queries[0], cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	xml := b.do(t, http.MethodGet, path, "", "Accept", "application/xml")
	for _, part := range []string{`<summary unread="3"><popups><notice>`, `<latest><notice><id>n_2</id>`, `<rules ok="7" failing="1"></rules></summary>`} {
		if !strings.Contains(xml.body, part) {
			t.Errorf("%s is not in %s", part, xml.body)
		}
	}
	b.reads.sum = page.Summary{}
	if got := b.do(t, http.MethodGet, path, ""); !strings.Contains(got.body, `"popups":[]`) || !strings.Contains(got.body, `"latest":[]`) {
		t.Errorf("an empty one: %s", got.body)
	}
	for path, code := range map[string]string{
		"?warehouse=119240": "missing_parameter", "?subscriber=user:1": "missing_parameter", "?warehouse=a/b&subscriber=user:1": "bad_warehouse",
		"?warehouse=119240&subscriber=ann": "bad_subscriber", "?warehouse=119240&subscriber=user:1&limit=5": "unknown_parameter",
	} {
		if p := b.do(t, http.MethodGet, "/api/v1/notices/summary"+path, "").asProblem(t); p.Code != code {
			t.Errorf("%s: %s (%s), want %s", path, p.Code, p.Detail, code)
		}
	}
	b.reads.err = page.ErrUnavailable
	if got := b.do(t, http.MethodGet, path, ""); got.status != 503 || got.header.Get("Retry-After") != "1" {
		t.Errorf("the inbox is away: %d %s", got.status, got.body)
	}
}

func TestUnreadFilter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const path = "/api/v1/notices?warehouse=119240&subscriber=user:1"
	for query, want := range map[string]bool{"&unread=true": true, "&unread=false": false, "&unread=": false, "": false} {
		b.get(t, path+query)
		if asked := b.inbox.asked(); len(asked) != 1 || asked[0].Unread != want {
			t.Errorf("%s: %+v", query, asked)
		}
	}
	first := b.get(t, path)
	if got := b.get(t, path+"&unread=true", "If-None-Match", first.header.Get("ETag")); got.status != 200 {
		t.Errorf("the ETag of a poll without the filter was taken for one with it: %d", got.status)
	}
	for query, code := range map[string]string{"&unread=yes": "invalid_parameter", "&unread=true&unread=true": "repeated_parameter"} {
		if p := b.get(t, path+query).asProblem(t); p.Code != code {
			t.Errorf("%s: %s", query, p.Code)
		}
	}
}

// A client reads its own notices in its own warehouse, and need not say so.
func TestAClientReadsItsOwn(t *testing.T) {
	t.Parallel()
	ann := auth.Identity{
		Subject: "user:ann", Access: []auth.Role{auth.Client}, Subscribers: []string{"user:ann", "role:keeper"}, Warehouses: []string{"119240"},
	}
	b := setup(t, func(d *parts) { d.Auth = only{ann} })
	post := func(path, body string, want int) {
		t.Helper()
		if got := b.do(t, http.MethodPost, "/api/v1/notices/"+path, body, "Content-Type", "application/json"); got.status != want {
			t.Errorf("%s %s: %d %s", path, body, got.status, got.body)
		}
	}
	post("read-all", `{"upTo":"c70"}`, http.StatusNoContent)
	post("n_abc/ack", "", http.StatusNoContent)
	post("n_abc/read?subscriber=role:keeper", "", http.StatusNoContent)
	post("read-all", `{"upTo":"c70","subscribers":["user:bob"]}`, http.StatusForbidden)
	post("read-all", `{"upTo":"c70","warehouse":"119241"}`, http.StatusForbidden)
	if got := b.do(t, http.MethodGet, "/api/v1/notices/summary?subscriber=user:bob", ""); got.status != http.StatusForbidden {
		t.Errorf("another's summary: %d", got.status)
	}
	b.get(t, "/api/v1/notices/summary")
	if q := b.reads.queries; len(q) != 1 || q[0].Reader() != "user:ann" || q[0].Warehouse != "119240" {
		t.Errorf("%+v", q)
	}
	for _, r := range b.marks.all {
		if r.User != "user:ann" || r.Warehouse != "119240" || len(r.Inboxes) != 2 {
			t.Errorf("%+v", r)
		}
	}
	if len(b.marks.all) != 1 || len(b.marks.marks) != 2 || b.marks.marks[1].User != "user:ann" {
		t.Errorf("%+v, %+v", b.marks.all, b.marks.marks)
	}
}

// only lets everybody in as one.
type only struct{ id auth.Identity }

func (o only) Authenticate(*http.Request) (auth.Identity, error) { return o.id, nil }
