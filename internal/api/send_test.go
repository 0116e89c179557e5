package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

const sendPath = "/api/v1/notices"

// sentAt is the clock of warehouses in these tests.
var sentAt = time.Date(2026, 6, 1, 0, 10, 0, 123456000, time.UTC)

// one is a request to send one notice.
func one(form string) string { return `{"notices":[` + form + `]}` }

// send sends one notice that must be taken, and returns it.
func (b *bundle) send(t *testing.T, form string) ledger.NewNotice {
	t.Helper()
	got := b.do(t, http.MethodPost, sendPath, one(form))
	if got.status != http.StatusCreated {
		t.Fatalf("%s: %d %s", form, got.status, got.body)
	}
	all := b.sends.all()
	return all[len(all)-1]
}

func TestSend(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := b.send(t, `{"type":"REP_NOTICE","warehouse":"119240","title":" Bin  A-01 ","body":"Replenish <it>.\n","texts":{"zh":{"title":"货位"}},
		"data":{"qty":-3.10,"bin":"A-01"},"priority":5,"order":7.25,"modal":"popup","labels":{"area":"north"},"expires":"24h",
		"recipients":["user:2","role:keeper","user:2"],
		"deliver":[{"sink":"inbox"},{"sink":"replenishment","strategy":"important"},{"sink":"gateway","strategy":"important","until":"sent"},
			{"sink":"letters","strategy":"delayed","delay":"10m","retry":3,"unless":"read"}]}`)
	recipients := []string{"role:keeper", "user:2"}
	want := ledger.NewNotice{
		Notice: &notice.Notice{
			Type: "REP_NOTICE", TypeID: 124719, Warehouse: "119240", Status: notice.Sent, Priority: 5, Order: "7.25", Modal: "popup", Title: "Bin A-01",
			Body: "Replenish <it>.", Texts: map[string]notice.Text{"zh": {Title: "货位"}},
			Data:   []notice.Field{{Name: "bin", Value: "A-01"}, {Name: "qty", Value: "-3.10"}},
			Labels: map[string]string{"area": "north"}, Count: 1, CreatedAt: sentAt, ExpiresAt: sentAt.Add(24 * time.Hour),
		},
		Sinks: []ledger.Target{
			{Sink: "inbox", Inbox: true, Recipients: recipients},
			{Sink: "replenishment"},
			{Sink: "gateway", Recipients: recipients, Strategy: &delivery.Strategy{Kind: delivery.Important, Until: delivery.UntilSent}},
			{Sink: "letters", Each: true, Recipients: recipients, Strategy: &delivery.Strategy{
				Kind: delivery.Delayed, Delay: 10 * time.Minute, Retry: 3, Unless: delivery.UnlessRead,
			}},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(notice.Notice{}, "ID", "Episode")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(b.sends.woken) != 4 {
		t.Errorf("woken: %v", b.sends.woken)
	}
	if all := b.meter.all(); len(all) != 1 || all[0] != "REP_NOTICE sent" {
		t.Errorf("counted: %v", all)
	}
}

// What a notice does not say comes from its type.
func TestSendDefaults(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := b.send(t, `{"type":"REP_NOTICE","warehouse":"119240","data":{"bin":"A-01","qty":null}}`)
	want := ledger.NewNotice{
		Notice: &notice.Notice{
			Type: "REP_NOTICE", TypeID: 124719, Warehouse: "119240", Status: notice.Sent, Priority: 3, Modal: "silent",
			Title: "Replenishment notice", Body: "bin: A-01\nqty:", Texts: map[string]notice.Text{"zh": {Title: "补货通知"}},
			Data:  []notice.Field{{Name: "bin", Value: "A-01"}, {Name: "qty"}},
			Count: 1, CreatedAt: sentAt, ExpiresAt: sentAt.Add(72 * time.Hour),
		},
		Sinks: []ledger.Target{{Sink: "inbox", Inbox: true}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(notice.Notice{}, "ID", "Episode")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	// Words alone need no data; a title stands for all languages that have none.
	for form, want := range map[string]notice.Notice{
		`"title":"Stop"`:              {Title: "Stop"},
		`"body":"Stop."`:              {Title: "Replenishment notice", Body: "Stop.", Texts: map[string]notice.Text{"zh": {Title: "补货通知"}}},
		`"texts":{"zh":{"body":"停"}}`: {Title: "Replenishment notice", Texts: map[string]notice.Text{"zh": {Title: "补货通知", Body: "停"}}},
	} {
		n := b.send(t, `{"type":"REP_NOTICE","warehouse":"119240",`+form+`}`).Notice
		got := notice.Notice{Title: n.Title, Body: n.Body, Texts: n.Texts, Data: n.Data}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", form, diff)
		}
	}
}

func TestSendAnswers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := `{"notices":[{"type":"REP_NOTICE","warehouse":"1","title":"a","recipients":["user:1"]},{"type":"REP_NOTICE","warehouse":"1","title":"b"}]}`
	send := func(body string, header ...string) answer {
		return b.do(t, http.MethodPost, sendPath, body, header...)
	}
	key := []string{"Idempotency-Key", "order 17/b"}
	first := send(body, key...)
	golden(t, "sent.json", first.body)
	if first.status != http.StatusCreated {
		t.Errorf("first: %d", first.status)
	}
	// The same request, written in another way, is answered with what came of the first.
	again := send(strings.Replace(body, `"warehouse":"1","title":"a"`, `"title": "a", "warehouse":"1"`, 1), key...)
	if again.status != http.StatusOK || again.body != first.body || len(b.sends.all()) != 2 {
		t.Errorf("again: %d %s", again.status, again.body)
	}
	xml := send(body, append(key, "Accept", "application/xml")...)
	if xml.status != http.StatusOK {
		t.Errorf("again, in XML: %d", xml.status)
	}
	golden(t, "sent.xml", xml.body)
	// Whatever else it says, it is another request.
	for _, other := range []string{
		strings.Replace(body, `"a"`, `"c"`, 1), strings.Replace(body, `"user:1"`, `"user:2"`, 1), strings.Replace(body, `"title":"b"`, `"title":"b","priority":4`, 1),
		one(`{"type":"REP_NOTICE","warehouse":"1","title":"a","recipients":["user:1"]}`),
		strings.Replace(body, `"title":"b"}`, `"title":"b"},{"type":"REP_NOTICE","warehouse":"1","title":"c"}`, 1),
		strings.Replace(body, `"title":"b"`, `"title":"b","deliver":[{"sink":"gateway"}]`, 1),
	} {
		if got := send(other, key...); got.status != http.StatusConflict || got.asProblem(t).Code != "idempotency_key_reused" {
			t.Errorf("%s: %d %s", other, got.status, got.body)
		}
	}
	// Without a key, and under another one, the same content is sent again.
	if got := send(body, "Idempotency-Key", "order 17/c"); got.status != http.StatusCreated {
		t.Errorf("another key: %d", got.status)
	}
	for range 2 {
		if got := send(body); got.status != http.StatusCreated {
			t.Errorf("no key: %d", got.status)
		}
	}
	episodes := map[string]bool{}
	for _, n := range b.sends.all() {
		if !json.Valid([]byte(n.Notice.Episode)) {
			t.Errorf("%s is no JSON", n.Notice.Episode)
		}
		episodes[n.Notice.Episode] = true
	}
	if len(episodes) != 4 || len(b.sends.all()) != 8 {
		t.Errorf("%d episodes of %d notices", len(episodes), len(b.sends.all()))
	}
}

// A request that would be refused by now, since its type has gone, is answered as it was when it is repeated. Another one is not.
func TestSendAgainAfterAChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	typed(b)
	const body = `{"notices":[{"type":"BARE","warehouse":"1","title":"a","recipients":["user:1"]},{"type":"REP_NOTICE","warehouse":"1","title":"b","recipients":["user:1"]}]}`
	key := []string{"Idempotency-Key", "order 18"}
	first := b.do(t, http.MethodPost, sendPath, body, key...)
	if first.status != http.StatusCreated {
		t.Fatalf("first: %d %s", first.status, first.body)
	}
	delete(b.catalogue.types, "BARE")
	woken := len(b.sends.woken)
	if again := b.do(t, http.MethodPost, sendPath, body, key...); again.status != http.StatusOK || again.body != first.body {
		t.Errorf("again: %d %s", again.status, again.body)
	}
	for what, other := range map[string][]string{
		"no key": {body}, "another key": {body, "Idempotency-Key", "order 19"}, "another request": {strings.Replace(body, `"b"`, `"c"`, 1), key[0], key[1]},
	} {
		if got := b.do(t, http.MethodPost, sendPath, other[0], other[1:]...); got.status != http.StatusUnprocessableEntity || got.asProblem(t).Code != "unknown_type" {
			t.Errorf("%s: %d %s", what, got.status, got.body)
		}
	}
	if len(b.sends.all()) != 2 || len(b.sends.woken) != woken {
		t.Errorf("%d notices, woken %d times", len(b.sends.all()), len(b.sends.woken)-woken)
	}
}

func TestSendFailures(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const good = `{"type":"REP_NOTICE","warehouse":"1","title":"a"}`
	for _, key := range []string{strings.Repeat("k", 256), "schlüssel"} {
		if got := b.do(t, http.MethodPost, sendPath, one(good), "Idempotency-Key", key); got.status != 400 || got.asProblem(t).Code != "bad_idempotency_key" {
			t.Errorf("key %.10s: %d %s", key, got.status, got.body)
		}
	}
	b.sends.err = errBroken
	if got := b.do(t, http.MethodPost, sendPath, one(good)); got.status != 503 || got.asProblem(t).Code != "ledger_unavailable" || strings.Contains(got.body, "hunter2") {
		t.Errorf("the ledger is away: %d %s", got.status, got.body)
	}
	if len(b.sends.woken) != 0 {
		t.Error("a failed request woke somebody")
	}
	if got := b.do(t, http.MethodPost, sendPath, one(good)+strings.Repeat(" ", 8<<20)); got.status != 413 {
		t.Errorf("too large: %d", got.status)
	}
	many := strings.Repeat(good+",", 1000) + good
	if got := b.do(t, http.MethodPost, sendPath, one(many)); got.status != 422 || got.asProblem(t).Code != "invalid_body" {
		t.Errorf("1,001 notices: %d %.200s", got.status, got.body)
	}
}
