package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/engine/why"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/rules"
	"tallyman/rules/row"
)

// everyWhy is an answer with something in every place.
func everyWhy() *why.Answer {
	at := bin().CreatedAt
	r := row.New([]row.Column{{Name: "bin_code", Kind: row.Text}, {Name: "wave_no", Kind: row.Int}})
	r.Values[0] = row.TextOf("A-01")
	return &why.Answer{
		Rule: &rules.Rule{ID: "negative-bin-stock", Scope: "119240", Title: "Negative bin stock"}, Key: `[119240,"A-01"]`, Asked: at,
		Finding: &ledger.Finding{State: finding.State{
			Phase: finding.Firing, Episode: at, FiringSince: at, AbsentSince: at, Priority: 3, LastNotified: at, Ordinal: 2, NoticeID: "n_abc", Group: `["A"]`,
		}, Row: []byte(`{"bin_code":"A-01","wave_no":null,"open":true,"qty":-3}`), RowDue: at},
		Look:    &why.Look{Rows: 2, Found: true, Match: true, Row: r, To: []string{"inbox", "sms after 10m unless read"}, Parts: []why.Part{{Text: "qty < 0", Outcome: "true"}, {Text: "a / b", Depth: 1, Outcome: "error", Fault: "division by zero"}}},
		Reasons: []why.Reason{{Code: "repeat", Text: "the last notice was made at noon", Facts: why.Facts{At: quarterPast, Asked: time.Hour, Columns: []string{"qty"}, Rises: true, Priority: 3}}},
		Next:    &why.Forecast{What: why.NextReminder, Due: at, At: at.Add(time.Second)},
		Notices: []ledger.NoticeTrace{{Notice: bin().Notice, Deliveries: []ledger.DeliveryTrace{
			{Seq: 1, Lane: ledger.Lane{Sink: "inbox", Warehouse: "119240"}, State: ledger.DeliverySent, Attempts: 1, SentAt: at, Recipients: []string{"role:keeper", "user:1"}},
			{Seq: 2, Lane: ledger.Lane{Sink: "gateway"}, State: ledger.DeliveryFailed, Attempts: 3, LastError: "a 400"},
			{Seq: 3, Lane: ledger.Lane{Sink: "sms"}, State: ledger.DeliveryPending, Attempts: 1, LastError: "a 503"},
		}}},
		Waiting: []ledger.DeliveryRecord{{DeliveryTrace: ledger.DeliveryTrace{Seq: 3}, Next: at, Deadline: at.Add(time.Minute)}},
		More:    true, Alike: []string{`[119240,"A-02"]`},
	}
}

func setupRules(t *testing.T) (*bundle, *fakeRules) {
	t.Helper()
	f := &fakeRules{scopes: twoScopes()}
	return setup(t, func(d *parts) {
		d.Rules, d.History, d.RuleFiles = f, f, ruleFiles
		d.Reload = func(context.Context, ledger.Author) (wire.Reloaded, error) {
			return wire.Reloaded{Files: 2, Rules: 7, Added: 1, Changed: 2, Removed: 1, Kept: 1, Version: "0a1b2c", Problems: ruleFiles().Problems}, f.err
		}
	}), f
}

func TestWhy(t *testing.T) {
	t.Parallel()
	b, f := setupRules(t)
	const path = "/api/v1/rules/negative-bin-stock/why?key=119240,A-01"
	golden(t, "why.json", b.get(t, path).body)
	if f.asked != "negative-bin-stock false 119240,A-01 true" {
		t.Errorf("asked %s", f.asked)
	}
	golden(t, "why.xml", b.get(t, path+"&scope=119240&look=false", "Accept", "application/xml").body)
	if f.asked != "negative-bin-stock true 119240,A-01 false" {
		t.Errorf("asked %s", f.asked)
	}
}

func TestPromote(t *testing.T) {
	t.Parallel()
	b, f := setupRules(t)
	got := b.do(t, "POST", "/api/v1/rules/negative-bin-stock/promote", "")
	const want = `{"promotions":[{"rule":"negative-bin-stock","scope":"119240","promoted":"2026-06-01T00:10:00Z","by":"anonymous"}]}`
	if got.status != 200 || strings.TrimSpace(got.body) != want || f.asked != "negative-bin-stock false anonymous" {
		t.Errorf("%d %s, asked %s", got.status, got.body, f.asked)
	}
	if got := b.get(t, "/api/v1/rules/negative-bin-stock/promote"); got.status != 405 {
		t.Errorf("GET: %d", got.status)
	}
}

func TestRulesRefusals(t *testing.T) {
	t.Parallel()
	b, f := setupRules(t)
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{&engine.UnknownError{What: "rule", Name: "x", Hint: `did you mean "y"?`}, 404, "rule_not_found"},
		{&engine.UnknownError{What: "scope", Name: "x"}, 404, "scope_not_found"},
		{&why.KeyError{Text: "no"}, 400, "bad_key"},
		{fmt.Errorf("%w: a, b", engine.ErrManyScopes), 400, "scope_missing"},
		{engine.ErrNotShadow, 409, "rule_not_shadow"},
		{errors.New("no route"), 503, "ledger_unavailable"},
	} {
		f.err = c.err
		for _, got := range []answer{b.do(t, "POST", "/api/v1/rules/x/promote", ""), b.get(t, "/api/v1/rules/x/why?key=1")} {
			if p := got.asProblem(t); got.status != c.status || p.Code != c.code {
				t.Errorf("%v: %d %s", c.err, got.status, got.body)
			}
		}
	}
	f.err = nil
	for path, code := range map[string]string{
		"/api/v1/rules/x/why": "missing_parameter", "/api/v1/rules/x/why?key=": "missing_parameter",
		"/api/v1/rules/x/why?key=1&look=maybe": "invalid_parameter", "/api/v1/rules/x/why?key=1&key=2": "repeated_parameter",
		"/api/v1/rules/x/why?key=1&force=1": "unknown_parameter",
	} {
		if p := b.get(t, path).asProblem(t); p.Code != code {
			t.Errorf("%s: %s, want %s", path, p.Code, code)
		}
	}
}

// The inbox of a rule in shadow is polled like any other, but nobody subscribes to it, and old clients do not know it.
func TestShadowSubscriber(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.inbox.put(onePage())
	if got := b.get(t, "/api/v1/notices?warehouse=119240&subscriber=shadow:negative-bin-stock"); got.status != 200 {
		t.Errorf("poll: %d %s", got.status, got.body)
	}
	if q := b.inbox.asked(); len(q) == 0 || q[0].Subscribers[0] != "shadow:negative-bin-stock" {
		t.Errorf("asked %+v", q)
	}
	const sub = `{"type":"REP_NOTICE","warehouse":"*","subscriber":"shadow:negative-bin-stock"}`
	for _, got := range []answer{
		b.get(t, "/api/v1/notices?warehouse=119240&subscriber=shadow:"), b.do(t, "POST", "/api/v1/subscriptions", sub),
		b.get(t, "/api/v1/subscriptions?subscriber=shadow:negative-bin-stock"),
		b.get(t, "/api/v1/legacy/listNotifications?whId=119240&subscriberIdList=shadow:negative-bin-stock", "Accept", "application/json"),
	} {
		if !strings.Contains(got.body, "bad_subscriber") {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
}

// A client that shows some rules asks for these rules only. Each scope has the runs for a sparkline.
func TestRulesByID(t *testing.T) {
	t.Parallel()
	b, f := setupRules(t)
	for _, id := range []string{"a-rule", "c-rule"} {
		one := f.scopes[0]
		rule := *one.Rule
		rule.ID, one.Rule = id, &rule
		f.scopes = append(f.scopes, one)
	}
	f.scopes[0].RunSum = ledger.RunSum{Runs: 3, Rows: 8, Errored: 2, Notices: 5, First: sentAt, Last: []ledger.Brief{
		{Took: 1500 * time.Microsecond, Outcome: ledger.OutcomeOK}, {Took: 2 * time.Second, Outcome: ledger.OutcomeDegraded}, {Took: 3 * time.Second, Outcome: ledger.OutcomeFailed},
	}}
	got := b.get(t, "/api/v1/rules?id=c-rule&id=negative-bin-stock&id=none")
	if got.status != 200 || strings.Count(got.body, `"title"`) != 2 || strings.Contains(got.body, "a-rule") || strings.Contains(got.body, "cursor") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if want := `"recent":{"runs":3,"rows":8,"errored":2,"errorRate":0.25,"notices":5,"first":"2026-06-01T00:10:00.123456Z","durationsMs":[1,2000,3000],"outcomes":"odf"}`; !strings.Contains(got.body, want) {
		t.Errorf("%s has no %s", got.body, want)
	}
	if got := b.get(t, "/api/v1/rules?id=negative-bin-stock", "Accept", "application/xml"); !strings.Contains(got.body, "<durationsMs><run>1</run><run>2000</run><run>3000</run></durationsMs><outcomes>odf</outcomes>") {
		t.Error(got.body)
	}
	for query, want := range map[string]int{
		"limit=2000": 200, "limit=2001": 400, "id=none": 200, "id=x" + strings.Repeat("&id=y", 199): 200, "id=x" + strings.Repeat("&id=y", 200): 400,
	} {
		if got := b.get(t, "/api/v1/rules?"+query); got.status != want {
			t.Errorf("%.30s: %d %s", query, got.status, got.body)
		}
	}
}
