package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tallyman/internal/api/view"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

func TestTypes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const path = "/api/v1/types"
	golden(t, "types.json", b.get(t, path).body)
	golden(t, "types.xml", b.get(t, path, "Accept", "application/xml").body)
	const lot = `{"code":"LOT_NOTICE","id":7,"name":"Lot near expiry","retention":"3d","fields":{"lot":{"type":"string","required":true}}}`
	steps := []struct {
		method, path, body string
		status             int
		contains           string
	}{
		{"POST", path, lot, 201, `"retention":"72h"`},
		{"POST", path, lot, 409, `"code":"type_exists"`},
		{"GET", path + "/LOT_NOTICE", "", 200, `"lot":{"type":"string","required":true}`},
		{"PUT", path + "/LOT_NOTICE", strings.Replace(lot, "3d", "1h30m", 1), 200, `"retention":"1h30m"`},
		{"PUT", path + "/NEW", strings.NewReplacer("LOT_NOTICE", "NEW", `"id":7`, `"id":8`).Replace(lot), 200, `"code":"NEW"`},
		{"PUT", path + "/LOT_NOTICE", strings.Replace(lot, `"id":7`, `"id":8`, 1), 409, `"code":"type_id_taken"`},
		{"PUT", path + "/OTHER", lot, 422, `"location":"body.code"`},
		{"POST", path, strings.Replace(lot, "LOT_NOTICE", "A B", 1), 422, `"location":"body.code"`},
		{"POST", path, strings.Replace(lot, `"lot"`, `"l-t"`, 1), 422, `body.fields`},
		{"POST", path, strings.Replace(lot, "3d", "3 days", 1), 422, `"location":"body.retention"`},
		{"POST", path, strings.Replace(lot, "3d", "0s", 1), 422, `"location":"body.retention"`},
		{"POST", path, strings.Replace(lot, `:"string"`, `:"text"`, 1), 422, `"location":"body.fields`},
		{"POST", path, strings.Replace(lot, `"id":7`, `"id":0`, 1), 422, `"location":"body.id"`},
		{"POST", path, strings.Replace(lot, `"id":7`, `"id":"7"`, 1), 422, `"location":"body.id"`},
		{"POST", path, strings.Replace(lot, "LOT_NOTICE", "TALLYMAN_LOT", 1), 422, `"location":"body.code"`},
		{"PUT", path + "/TALLYMAN_NO_DATA", strings.Replace(lot, "LOT_NOTICE", "TALLYMAN_NO_DATA", 1), 422, `"location":"body.code"`},
		{"POST", path, strings.Replace(lot, `"id":7`, `"id":2000000002`, 1), 422, `"location":"body.id"`},
		{"DELETE", path + "/TALLYMAN_NO_DATA", "", 409, `"code":"type_reserved"`},
		{"DELETE", path + "/LOT_NOTICE", "", 204, ""},
		{"GET", path + "/LOT_NOTICE", "", 404, `"code":"unknown_type"`},
	}
	for _, s := range steps {
		got := b.do(t, s.method, s.path, s.body)
		if got.status != s.status || !strings.Contains(got.body, s.contains) {
			t.Errorf("%s %s %s: %d %s, want %d %s", s.method, s.path, s.body, got.status, got.body, s.status, s.contains)
		}
	}
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const path = "/api/v1/subscriptions"
	const sub = `{"type":"REP_NOTICE","warehouse":"*","subscriber":"role:keeper"}`
	for i, want := range []int{http.StatusCreated, http.StatusOK} {
		if got := b.do(t, "POST", path, sub); got.status != want || strings.TrimSpace(got.body) != sub {
			t.Errorf("time %d: %d %s", i, got.status, got.body)
		}
	}
	golden(t, "subscriptions.json", b.get(t, path).body)
	golden(t, "subscriptions.xml", b.get(t, path, "Accept", "application/xml").body)
	bulk := `{"subscriptions":[` + sub + `,` + strings.Replace(sub, "*", "1", 1) + `,` + strings.Replace(sub, "*", "1", 1) + `]}`
	if got := b.do(t, "POST", path+"/import", bulk); got.status != http.StatusOK || strings.TrimSpace(got.body) != `{"added":1,"present":1}` {
		t.Errorf("import: %d %s", got.status, got.body)
	}
	for _, want := range []int{http.StatusNoContent, http.StatusNotFound} {
		if got := b.do(t, "DELETE", path+"?type=REP_NOTICE&warehouse=*&subscriber=role:keeper", ""); got.status != want {
			t.Errorf("delete: %d %s", got.status, got.body)
		}
	}
	if got := b.get(t, path); !strings.Contains(got.body, `"warehouse":"1"`) || strings.Contains(got.body, `"*"`) {
		t.Errorf("left: %s", got.body)
	}
}

func TestSubscriptionPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 25 {
		b.catalogue.subs[ledger.Subscription{Type: "REP_NOTICE", Warehouse: fmt.Sprintf("W%02d", i%5), Subscriber: fmt.Sprintf("user:%02d", i)}] = true
	}
	for filter, want := range map[string]int{"": 25, "&warehouse=W03": 5, "&subscriber=user:07": 1, "&type=NO": 0, "&warehouse=*": 0} {
		seen, cursor := map[string]bool{}, ""
		for {
			var pg struct {
				Subscriptions []struct{ Type, Warehouse, Subscriber string }
				Cursor        string
			}
			got := b.get(t, "/api/v1/subscriptions?limit=10"+filter+"&after="+cursor)
			if err := json.Unmarshal([]byte(got.body), &pg); err != nil {
				t.Fatal(err)
			}
			for _, s := range pg.Subscriptions {
				seen[s.Warehouse+s.Subscriber] = true
			}
			if cursor = pg.Cursor; cursor == "" {
				break
			}
		}
		if len(seen) != want {
			t.Errorf("filter %q: %d, want %d", filter, len(seen), want)
		}
	}
}

func TestLedgerOutOfReach(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.catalogue.err = errBroken
	const sub = `{"type":"REP_NOTICE","warehouse":"*","subscriber":"role:keeper"}`
	for _, got := range []answer{
		b.get(t, "/api/v1/types"), b.get(t, "/api/v1/subscriptions", "Accept", "text/xml"), b.do(t, "POST", "/api/v1/subscriptions", sub),
	} {
		p := got.asProblem(t)
		if got.status != http.StatusServiceUnavailable || p.Code != "ledger_unavailable" || got.header.Get("Retry-After") == "" ||
			strings.Contains(got.body, "hunter2") {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 6, 1, 0, 10, 0, 0, time.UTC)
	report := wire.StatusReport{
		Version: "1.2.3", Node: "node-1", Started: at,
		Health: []wire.Health{{Part: "ledger", OK: true}, {Part: "source", Name: "wms", Error: "connection refused", Since: &at}},
		Rules: []wire.RuleStatus{{
			ID: "negative-bin-stock", Scope: "119240", Title: "Negative bin stock", Source: "wms", File: "stock.yaml", Enabled: true, Verified: true, NextDue: &at,
			LastRun: view.NewRunStatus(&ledger.Run{Due: at, Started: at, Duration: 1500 * time.Millisecond, Node: "node-1", Outcome: ledger.OutcomeDegraded, Rows: 5, Matched: 2, Errored: 1, Samples: []string{"row 4: division by zero"}}),
			Pending: 1, Firing: 2,
		}, {ID: "lot-near-expiry", Source: "wms", File: "stock.yaml", Enabled: true, Reason: "source wms: connection refused"}},
		Problems:   []wire.FileProblem{{Code: "unknown_field", File: "broken.yaml", Line: 3, Col: 5, Message: "there is no field modes", Hint: "did you mean mode?"}},
		Deliveries: []wire.DeliveryCount{{Sink: "gateway", State: "failed", Count: 1}, {Sink: "inbox", State: "sent", Count: 5}},
	}
	b := setup(t, func(d *parts) { d.Status = func(context.Context) (wire.StatusReport, error) { return report, nil } })
	golden(t, "status.json", b.get(t, "/api/v1/status").body)
	golden(t, "status.xml", b.get(t, "/api/v1/status", "Accept", "application/xml").body)
	b = setup(t)
	if got := b.get(t, "/api/v1/status"); strings.Contains(got.body, "null") {
		t.Errorf("an empty report is %s", got.body)
	}
	b = setup(t, func(d *parts) {
		d.Status = func(context.Context) (wire.StatusReport, error) { return wire.StatusReport{}, errBroken }
	})
	if got := b.get(t, "/api/v1/status"); got.asProblem(t).Code != "internal_error" || strings.Contains(got.body, "hunter2") {
		t.Errorf("a failed report is %s", got.body)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "tallyman_test", Help: "A test."})
	registry.MustRegister(gauge)
	var ready error
	var unwell []string
	b := setup(t, func(d *parts) {
		d.Gatherer = registry
		d.Ready = func(context.Context) error { return ready }
		d.Unwell = func() []string { return unwell }
	})
	for path, want := range map[string]string{
		"/healthz": `{"status":"alive"}`, "/readyz": `{"status":"ready"}`, "/metrics": "tallyman_test 0",
	} {
		if got := b.get(t, path); got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	unwell = []string{"source wms", "rules: 2 late"}
	if got := b.get(t, "/readyz"); got.status != http.StatusOK || got.body != `{"status":"ready","unwell":["source wms","rules: 2 late"]}`+"\n" {
		t.Errorf("a part that is not well: %d %s", got.status, got.body)
	}
	ready = errors.Join(errors.New("inbox: dial tcp 10.0.0.7:6379: connection refused"), errors.New("ledger: user=tallyman: not there"))
	got := b.get(t, "/readyz")
	p := got.asProblem(t)
	if got.status != http.StatusServiceUnavailable || p.Code != "not_ready" || len(p.Errors) != 2 || p.Errors[1].Message != "ledger: not ready; /api/v1/status says why" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if strings.Contains(got.body, "10.0.0.7") || strings.Contains(got.body, "user=") { // whoever reaches the address may ask
		t.Errorf("strangers are told %s", got.body)
	}
	ready = errors.New("rules: none loaded")
	if p := b.get(t, "/readyz", "Accept", "application/xml").asProblem(t); len(p.Errors) != 1 || !strings.HasPrefix(p.Errors[0].Message, "rules: not ready") {
		t.Errorf("%+v", p)
	}
	if got := b.get(t, "/healthz"); got.status != http.StatusOK {
		t.Errorf("a node that is not ready is alive: %d", got.status)
	}
}

func TestPanics(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *parts) {
		d.Status = func(context.Context) (wire.StatusReport, error) { panic("at the disco") }
	})
	got := b.get(t, "/api/v1/status")
	p := got.asProblem(t)
	if got.status != http.StatusInternalServerError || p.Code != "internal_error" || strings.Contains(got.body, "disco") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if log := b.log.String(); !strings.Contains(log, "at the disco") || !strings.Contains(log, p.RequestID) || !strings.Contains(log, "manage_test.go") {
		t.Errorf("the log lacks the panic, its request or its place: %s", log)
	}
}

func TestAccessLog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := b.get(t, pollPath)
	log := b.log.String()
	for _, want := range []string{"path=/api/v1/notices", "status=200", got.header.Get("X-Request-Id"), "method=GET"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s: %s", want, log)
		}
	}
	if strings.Contains(log, "user:1") {
		t.Errorf("the log has the query: %s", log)
	}
}
