package api_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/internal/api/view"
	"tallyman/internal/ledger"
)

const deliveriesPath = "/api/v1/deliveries"

func TestDeliveries(t *testing.T) {
	t.Parallel()
	b := setup(t)
	golden(t, "deliveries.json", b.get(t, deliveriesPath).body)
	golden(t, "deliveries.xml", b.get(t, deliveriesPath, "Accept", "application/xml").body)
	golden(t, "delivery.json", b.get(t, deliveriesPath+"/2").body)
	golden(t, "delivery.xml", b.get(t, deliveriesPath+"/2", "Accept", "application/xml").body)
}

func TestDeliveryCauses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	golden(t, "causes.json", b.get(t, deliveriesPath+"/causes?warehouse=119240").body)
	if got := b.get(t, deliveriesPath+"/causes?warehouse=a%20b"); got.status != 400 {
		t.Errorf("%d %s", got.status, got.body)
	}
	b.get(t, deliveriesPath+"?cause=refused:400")
	b.deliveries.mu.Lock()
	defer b.deliveries.mu.Unlock()
	if asked := b.deliveries.asked[len(b.deliveries.asked)-1]; asked.Cause != "refused:400" {
		t.Errorf("the ledger was asked for %+v", asked)
	}
}

func TestDeliveryFilters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for query, want := range map[string]string{
		"": "6 5 4 3 2 1", "sink=sms": "5 4 3", "state=failed&state=canceled": "5 4", "warehouse=119241": "4", "rule=negative-bin-stock": "6 5 3 2 1",
		"notice=n_other": "4", "type=REP_NOTICE&warehouse=w9": "", "sink=sms&state=timed_out": "", "after=3": "2 1", "sink=sms&state=pending&state=": "3", "sink=&after=&limit=": "6 5 4 3 2 1",
		"order=latest": "6 5 4 3 2 1", "order=oldest": "1 2 3 4 5 6", "order=oldest&after=oldest.4": "5 6", "sink=sms&order=oldest": "3 4 5",
		"held=true": "6", "held=false&sink=inbox": "1",
	} {
		if got := ids(b.get(t, deliveriesPath+"?"+query).body); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	// Pages.
	var pages []string
	for cursor := ""; ; {
		got := b.get(t, deliveriesPath+"?limit=4&after="+cursor)
		pages = append(pages, ids(got.body))
		_, rest, more := strings.Cut(got.body, `"cursor":"`)
		if !more {
			break
		}
		cursor, _, _ = strings.Cut(rest, `"`)
	}
	if !slices.Equal(pages, []string{"6 5 4 3", "2 1"}) {
		t.Errorf("pages %q", pages)
	}
}

// ids are the numbers of the deliveries in an answer.
func ids(body string) string {
	var list []string
	for _, part := range strings.Split(body, `{"id":`)[1:] {
		id, _, _ := strings.Cut(part, ",")
		list = append(list, id)
	}
	return strings.Join(list, " ")
}

func TestDeliveryRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deliveries.list[4].Expires = b.deliveries.list[1].Created.Add(-time.Hour)
	b.deliveries.list[2].Node = "node-7"
	inbox := *b.deliveries.list[1]
	inbox.Seq, inbox.State = 7, ledger.DeliveryPending
	b.deliveries.list[7] = &inbox
	for _, s := range []struct {
		method, path, body string
		status             int
		contains           string
	}{
		{"GET", "?state=lost", "", 400, `state \"lost\" is not one of pending, sent, failed, timed_out, canceled`},
		{"GET", "?sink=a%20b", "", 400, `"code":"invalid_parameter"`},
		{"GET", "?notice=%00", "", 400, `"code":"bad_text"`},
		{"GET", "?held=yes", "", 400, `"code":"invalid_parameter"`},
		{"GET", "?after=0", "", 400, `"code":"bad_cursor"`},
		{"GET", "?order=oldest&after=3", "", 400, "after is a cursor of the order latest, and order asks for oldest: start the list again without after"},
		{"GET", "?after=oldest.3", "", 400, "after is a cursor of the order oldest, and order asks for latest"},
		{"GET", "?order=newest", "", 400, `order \"newest\" is neither latest nor oldest`},
		{"GET", "?cause=soon", "", 400, `"code":"invalid_parameter"`},
		{"GET", "?limit=1001", "", 400, `"code":"bad_limit"`},
		{"GET", "?before=1", "", 400, `"code":"unknown_parameter"`},
		{"GET", "/99", "", 404, `"code":"delivery_not_found"`},
		{"GET", "/x", "", 404, `"code":"delivery_not_found"`},
		{"POST", "/99/retry", "", 404, `"code":"delivery_not_found"`},
		{"POST", "/-1/cancel", "", 404, `"code":"delivery_not_found"`},
		{"POST", "/1/retry", "", 409, "delivery 1 stays as it is: it was sent"},
		{"POST", "/2/retry", "", 409, "node node-7 holds the delivery now"},
		{"POST", "/4/retry", "", 409, "its notice has expired"},
		{"POST", "/7/retry", "", 409, "it is pending, and is tried until it succeeds"},
		{"POST", "/4/cancel", "", 409, `it is failed, and only pending deliveries can be canceled`},
		{"POST", "/3/cancel", `{"reason":"two\nlines"}`, 422, `"location":"body.reason"`},
		{"POST", "/3/cancel", `{"reason":"` + strings.Repeat("x", 201) + `"}`, 422, `"location":"body.reason"`},
		{"POST", "/3/cancel", `{"why":"x"}`, 422, `"location":"body.why"`},
		{"POST", "/retry", ``, 400, `"code":"malformed_body"`},
		{"POST", "/retry", `{}`, 422, "give ids or a filter"},
		{"POST", "/retry", `{"ids":[1],"filter":{"sink":"sms"}}`, 422, "but not both"},
		{"POST", "/retry", `{"filter":{}}`, 422, "would choose every delivery"},
		{"POST", "/retry", `{"filter":{"after":"3"}}`, 422, "would choose every delivery"},
		{"POST", "/retry", `{"filter":{"sink":"a b"}}`, 422, `"location":"body.filter.sink"`},
		{"POST", "/retry", `{"filter":{"state":["lost"]}}`, 422, `body.filter.state`},
		{"POST", "/retry", `{"ids":[0]}`, 422, `body.ids`},
		{"POST", "/cancel", `{"filter":{"state":["sent"]}}`, 422, "only pending deliveries can be canceled"},
		{"POST", "/cancel", `{"ids":[3],"reason":"a\tb"}`, 422, `"location":"body.reason"`},
	} {
		got := b.do(t, s.method, deliveriesPath+s.path, s.body)
		if got.status != s.status || !strings.Contains(got.body, s.contains) {
			t.Errorf("%s %s %s: %d %s, want %d %s", s.method, s.path, s.body, got.status, got.body, s.status, s.contains)
		}
	}
	b.deliveries.err = errBroken
	for _, path := range []string{"", "/1", "/1/retry"} {
		method := map[bool]string{true: "POST", false: "GET"}[strings.HasSuffix(path, "retry")]
		if got := b.do(t, method, deliveriesPath+path, ""); got.status != 503 || got.asProblem(t).Code != "ledger_unavailable" || strings.Contains(got.body, "hunter2") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// The reason of a refusal goes by the rules' clock, as the ledger does. The machine's clock may be another one.
func TestReasonOfARefusedRetryIsByTheRulesClock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deliveries.refuses = true
	now := bin().CreatedAt.Add(5 * time.Minute) // As the clock of the bundle.
	for after, want := range map[time.Duration]string{-time.Second: "its notice has expired", time.Second: "it has just changed"} {
		b.deliveries.list[4].Expires = now.Add(after)
		if got := b.do(t, "POST", deliveriesPath+"/4/retry", ""); got.status != 409 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s", after, got.status, got.body)
		}
	}
}

func TestRetryAndCancel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, s := range []struct{ path, body, want string }{
		{"/retry", `{"filter":{"held":true}}`, `{"changed":1}`},
		{"/4/retry", "", `"state":"pending"`},
		{"/3/retry", "", `"state":"pending"`},
		{"/3/cancel", `{"reason":" told by phone "}`, `"lastError":"told by phone"`},
		{"/6/cancel", "", `"lastError":"canceled by an operator"`},
		{"/retry", `{"ids":[1,3,2,99]}`, `{"changed":1,"ids":[3]}`},
		{"/cancel", `{"ids":[1]}`, `{"changed":0}`},
		{"/cancel", `{"filter":{"sink":"sms"},"reason":"over"}`, `{"changed":2}`},
		{"/retry", `{"filter":{"sink":"sms"}}`, `{"changed":0}`}, // what was canceled is not brought back by itself
		{"/retry", `{"filter":{"sink":"sms","state":["canceled"],"warehouse":"119241"}}`, `{"changed":1}`},
	} {
		got := b.do(t, "POST", deliveriesPath+s.path, s.body)
		if got.status != 200 || !strings.Contains(got.body, s.want) {
			t.Errorf("%s %s: %d %s, want %s", s.path, s.body, got.status, got.body, s.want)
		}
	}
	var woken []string
	for _, lane := range b.sends.woken {
		woken = append(woken, lane.Sink)
	}
	if !slices.Equal(woken, []string{"gateway", "sms", "sms", "sms", "sms"}) {
		t.Errorf("woken %q", woken)
	}
	if log := b.log.String(); !strings.Contains(log, `reason="told by phone"`) || !strings.Contains(log, "change=retry deliveries=1 first=4 last=4") {
		t.Errorf("the log is silent: %s", log)
	}
}

// What a filter chooses is changed portion by portion, and a request ends before it takes for ever.
func TestManyDeliveriesAreChangedInPortions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const many = 20_500
	for seq := int64(10); seq < 10+many; seq++ {
		d := *b.deliveries.list[4]
		d.Seq = seq
		b.deliveries.list[seq] = &d
	}
	const filter = `{"filter":{"sink":"sms","state":["failed"]%s}}`
	first := b.do(t, "POST", deliveriesPath+"/retry", fmt.Sprintf(filter, ""))
	if want := fmt.Sprintf(`{"changed":20000,"cursor":"%d"}`, 10+500); strings.TrimSpace(first.body) != want {
		t.Fatalf("%s, want %s", first.body, want)
	}
	rest := b.do(t, "POST", deliveriesPath+"/retry", fmt.Sprintf(filter, `,"after":"510"`))
	if want := `{"changed":501}`; strings.TrimSpace(rest.body) != want {
		t.Errorf("%s, want %s", rest.body, want)
	}
	for _, f := range b.deliveries.asked {
		if f.Limit > 1000 || !slices.Equal(f.States, []ledger.DeliveryState{ledger.DeliveryFailed}) {
			t.Errorf("asked %+v", f)
		}
	}
}

// A filter with a name that nothing has is a fault of the caller. "0 deliveries" would hide a wrong name.
func TestDeliveryFilterWithAnUnknownName(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *parts) {
		d.Rules = &fakeRules{err: &engine.UnknownError{What: "rule", Name: "negative-bin-stok", Hint: `did you mean "negative-bin-stock"?`}}
	})
	for _, s := range []struct {
		filter, query, code, detail string
	}{
		{`"sink":"gatewy"`, "sink=gatewy", "sink_not_found", `there is no sink "gatewy"; there are gateway, inbox, sms`},
		{`"sink":"gatewy","warehouse":"119240","state":["pending"]`, "sink=gatewy&state=pending", "sink_not_found", `there is no sink "gatewy"; there are gateway, inbox, sms`},
		{`"type":"REP_NOTIC"`, "type=REP_NOTIC", "unknown_type", `the catalogue has no type "REP_NOTIC"; did you mean "REP_NOTICE"?`},
		{`"type":"7"`, "type=7", "unknown_type", `the catalogue has no type "7"; tallyman types list shows the types`},
		{`"rule":"negative-bin-stok"`, "rule=negative-bin-stok", "rule_not_found", `there is no rule "negative-bin-stok"; did you mean "negative-bin-stock"?`},
	} {
		for _, got := range []answer{
			b.do(t, "POST", deliveriesPath+"/cancel", `{"filter":{`+s.filter+`}}`), b.do(t, "POST", deliveriesPath+"/retry", `{"filter":{`+s.filter+`}}`),
			b.get(t, deliveriesPath+"?"+s.query),
		} {
			if p := got.asProblem(t); got.status != 404 || p.Code != s.code || p.Detail != s.detail {
				t.Errorf("%s: %d %s, want 404 %s %s", s.filter, got.status, got.body, s.code, s.detail)
			}
		}
	}
	// The deliveries of a sink, a type and a rule that were removed can still be seen and changed.
	b.deliveries.list[2].Lane.Sink, b.deliveries.list[2].Type, b.deliveries.list[2].Rule = "pigeon", "OLD", "old-rule"
	for _, s := range []struct{ path, body, want string }{
		{"/cancel", `{"filter":{"sink":"pigeon","state":["pending"],"rule":"old-rule","type":"OLD"}}`, `{"changed":1}`},
		{"/cancel", `{"filter":{"sink":"pigeon","state":["pending"],"rule":"old-rule","type":"OLD"}}`, `{"changed":0}`},
		{"/cancel", `{"filter":{"warehouse":"w9"}}`, `{"changed":0}`},
		{"/cancel", `{"filter":{"sink":"pigeon","after":"2"}}`, `{"changed":0}`},
	} {
		if got := b.do(t, "POST", deliveriesPath+s.path, s.body); got.status != 200 || strings.TrimSpace(got.body) != s.want {
			t.Errorf("%s %s: %d %s, want %s", s.path, s.body, got.status, got.body, s.want)
		}
	}
	if got := b.get(t, deliveriesPath+"?sink=pigeon&state=sent"); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestSinks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	golden(t, "sinks.json", b.get(t, "/api/v1/sinks").body)
	golden(t, "sinks.xml", b.get(t, "/api/v1/sinks", "Accept", "application/xml").body)
	if got := b.get(t, "/api/v1/sinks/gateway"); !strings.Contains(b.get(t, "/api/v1/sinks").body, strings.TrimSpace(got.body)) {
		t.Errorf("one sink is %s", got.body)
	}
	if p := b.get(t, "/api/v1/sinks/pigeon").asProblem(t); p.Code != "sink_not_found" || p.Detail != `there is no sink "pigeon"; there are gateway, inbox, sms` {
		t.Errorf("%+v", p)
	}
	b = setup(t, func(d *parts) {
		d.Sinks = map[string]view.ServedSink{"inbox": {Type: "inbox", Ready: func() error { return errors.New("it is being written back") }}}
	})
	if got := b.get(t, "/api/v1/sinks/inbox"); !strings.Contains(got.body, `"ok":false,"error":"it is being written back"`) {
		t.Errorf("an inbox that is not ready is %s", got.body)
	}
	b.deliveries.err = errBroken
	for _, path := range []string{"/sinks", "/sinks/inbox"} {
		if got := b.get(t, "/api/v1"+path); got.asProblem(t).Code != "ledger_unavailable" {
			t.Errorf("%s: %s", path, got.body)
		}
	}
}
