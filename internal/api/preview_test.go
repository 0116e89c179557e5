package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/engine/trial/preview"
	"tallyman/internal/authoring"
	"tallyman/internal/notice"
	"tallyman/rules/problem"
	"tallyman/scanners"
)

// triedRule is a report that has everything.
func triedRule() *preview.Report {
	text := func(s string) *string { return &s }
	at := time.Date(2026, 6, 1, 0, 10, 0, 0, time.UTC)
	n := &notice.Notice{
		ID: "n_1", Type: "REP_NOTICE", TypeID: 124719, Warehouse: "119240", Rule: "negative-bin-stock", Scope: "119240", Key: `["A-01"]`, Episode: "1780272600000000",
		Status: notice.Firing, Priority: 3, Modal: "popup", Title: "Bin A-01 is at -3", Body: "Refill <it>", Data: []notice.Field{{Name: "qty", Value: "-3"}}, Count: 1,
		CreatedAt: at, ExpiresAt: at.Add(time.Hour),
	}
	told := preview.Notice{
		Form: n.Form(), Texts: map[string]preview.Text{"zh": {Title: "货位", Body: "补货"}},
		To: []preview.Destination{
			{Sink: "inbox", Type: "inbox", Recipients: []string{"role:keeper", "user:7"}},
			{Sink: "sms", Type: "chat", Strategy: "delayed", How: "after 10m unless read"},
		},
	}
	later := told
	later.To = []preview.Destination{{Sink: "inbox", Type: "inbox", Note: "nobody is subscribed"}}
	return &preview.Report{
		Rule: "negative-bin-stock", Title: "Negative bin stock", Scope: "119240", Source: "wms", Mode: "state", Due: at, Timezone: "Asia/Shanghai", Enabled: true,
		Start: preview.Start{From: preview.FromLedger, LastRun: &at, Pending: 1}, Outcome: "degraded", TookMS: 12,
		Counts: preview.Counts{Rows: 4, Matched: 2, Errored: 1, Pending: 1, Firing: 1, Notices: 1}, Plan: &preview.Plan{Cost: 12.5, Shape: "Seq Scan bin_stock", MaxCost: 100},
		Columns:   []preview.Column{{Name: "bin", Kind: "text", DBType: "varchar"}, {Name: "qty", Kind: "decimal", DBType: "numeric"}},
		Watermark: &preview.Watermark{Columns: []string{"id"}, Before: []*string{nil}, After: []*string{text("7")}, Until: at},
		Rows: []preview.Row{
			{Number: 1, Values: []*string{text("A-01"), text("-3")}, Judgement: preview.Judgement{
				Match: true, Key: `["A-01"]`, Life: preview.Life{Fate: preview.Fires, Since: &at, Notice: "n_1", In: "group"},
			}},
			{Number: 2, Values: []*string{text("A-02"), nil}, Judgement: preview.Judgement{Because: []string{"qty < 0 is null"}}},
		},
		Result:   &preview.Judgement{Error: "rows: division by zero"},
		Findings: []preview.Finding{{Key: `["A-09"]`, Life: preview.Life{Fate: preview.Kept, Next: &at}}},
		Notices:  []preview.Notice{told}, Later: []preview.Notice{later},
		LeftOut: preview.LeftOut{Rows: 2}, Notes: []string{"nobody is subscribed to REP_NOTICE in warehouse 119240"},
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	var asked []authoring.PreviewRequest
	b := setup(t, func(d *parts) {
		d.Preview = func(_ context.Context, q authoring.PreviewRequest) (*preview.Report, error) {
			asked = append(asked, q)
			return triedRule(), nil
		}
	})
	for form, file := range map[string]string{"application/json": "preview.json", "application/xml": "preview.xml"} {
		got := b.do(t, http.MethodPost, "/api/v1/rules/negative-bin-stock/preview", `{"scope":"119240","at":"-1h","limit":5}`, "Accept", form)
		if got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		golden(t, file, got.body)
	}
	if q := asked[0]; q.Rule != "negative-bin-stock" || q.Scope == nil || *q.Scope != "119240" || q.At != "-1h" || q.Limit != 5 {
		t.Errorf("%+v", q)
	}
	b.do(t, http.MethodPost, "/api/v1/rules/negative-bin-stock/preview", "")
	if q := asked[len(asked)-1]; q.Scope != nil || q.At != "" || q.Limit != 20 {
		t.Errorf("%+v", q)
	}
}

func TestPreviewsThatFail(t *testing.T) {
	t.Parallel()
	var fault error
	b := setup(t, func(d *parts) {
		d.Preview = func(context.Context, authoring.PreviewRequest) (*preview.Report, error) { return nil, fault }
	})
	unverified := problem.List{{Code: "expr_unknown_name", File: "stock.yaml", Line: 6, Col: 11, Message: "there is no column qtty"}}
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"no such rule":       {&engine.UnknownError{What: "rule", Name: "x"}, 404, "rule_not_found"},
		"no such scope":      {&engine.UnknownError{What: "scope", Name: "x"}, 404, "scope_not_found"},
		"several scopes":     {engine.ErrManyScopes, 400, "scope_missing"},
		"no time":            {&authoring.AtError{Err: errors.New(`"noon" is no time`)}, 422, "invalid_body"},
		"unverified":         {unverified, 409, "rule_unverified"},
		"a bad statement":    {&scanners.Error{Code: scanners.CodeStatement, Err: errors.New("no table")}, 409, "rule_unverified"},
		"too dear":           {&preview.RefusedError{Err: errors.New("probe_cost: too dear")}, 409, "rule_unverified"},
		"out of reach":       {&scanners.Error{Code: scanners.CodeUnreachable, Transient: true, Err: errors.New("10.0.0.7 refused")}, 503, "source_unavailable"},
		"too slow":           {errors.Join(errors.New("x"), context.DeadlineExceeded), 503, "source_unavailable"},
		"others run":         {authoring.ErrBusy, 503, "source_unavailable"},
		"rules run":          {engine.ErrSourceBusy, 503, "source_unavailable"},
		"the ledger is away": {errors.New("gone"), 503, "ledger_unavailable"},
	} {
		fault = c.err
		got := b.do(t, http.MethodPost, "/api/v1/rules/negative-bin-stock/preview", `{}`)
		if p := got.asProblem(t); got.status != c.status || p.Code != c.code || strings.Contains(got.body, "10.0.0.7") {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	fault = unverified
	if p := b.do(t, http.MethodPost, "/api/v1/rules/x/preview", `{}`).asProblem(t); len(p.Errors) != 1 || p.Errors[0].Location != "stock.yaml:6:11" {
		t.Errorf("%+v", p)
	}
	for _, body := range []string{`{"limit":201}`, `{"limit":-1}`, `{"rows":5}`, `{"scope":7}`, `[]`, `{`} {
		if got := b.do(t, http.MethodPost, "/api/v1/rules/x/preview", body); got.status != http.StatusUnprocessableEntity && got.status != http.StatusBadRequest {
			t.Errorf("%s: %d", body, got.status)
		}
	}
}
