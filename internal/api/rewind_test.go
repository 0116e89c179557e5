package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tallyman/engine"
	"tallyman/engine/trial/rewind"
	"tallyman/internal/authoring"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// rewinding answers rewinds of two scopes. The second scope has not run yet.
func rewinding(asked *authoring.RewindRequest, fault, second *error) func(context.Context, authoring.RewindRequest) ([]authoring.RewoundScope, error) {
	return func(_ context.Context, q authoring.RewindRequest) ([]authoring.RewoundScope, error) {
		*asked = q
		if *fault != nil {
			return nil, *fault
		}
		columns := []string{"at", "id"}
		at := row.TimeOf(bin().CreatedAt)
		counts := rewind.Counts{}
		if q.DryRun {
			counts = rewind.Counts{Rows: 12, Matched: 7, Told: 3, Silenced: 1, Notices: 3, More: true}
		}
		return []authoring.RewoundScope{
			{Scope: "119240", Columns: columns, Move: &rewind.Move{Before: []row.Value{at, row.IntOf(9)}, After: []row.Value{at, row.IntOf(4)}, Counts: counts}},
			{Scope: "119241", Columns: columns, Move: &rewind.Move{After: []row.Value{at, row.IntOf(4)}}, Fault: *second},
		}, nil
	}
}

func TestRewind(t *testing.T) {
	t.Parallel()
	var asked authoring.RewindRequest
	var fault, second error
	b := setup(t, func(d *parts) { d.Rewind = rewinding(&asked, &fault, &second) })
	const path = "/api/v1/rules/negative-bin-stock/rewind"
	for form, file := range map[string]string{"application/json": "rewind.json", "application/xml": "rewind.xml"} {
		got := b.do(t, http.MethodPost, path, `{"to":["-12h,4"],"dryRun":true}`, "Accept", form)
		if got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		golden(t, file, got.body)
	}
	if !asked.DryRun || asked.Scope != nil || fmt.Sprint(asked.To) != "[-12h,4]" || asked.Rule != "negative-bin-stock" {
		t.Errorf("%+v", asked)
	}
	second = engine.ErrRunning
	got := b.do(t, http.MethodPost, path+"?scope=119240", `{"to":["-12h","4"],"reason":"missed"}`)
	if got.status != http.StatusOK || asked.DryRun || asked.Scope == nil || *asked.Scope != "119240" || asked.Reason != "missed" || asked.Who != (ledger.Author{By: "anonymous", Via: "none"}) {
		t.Errorf("%d %s %+v", got.status, got.body, asked)
	}
	for _, want := range []string{`"moved":true}`, `"moved":false,"error":"rule_busy: `, `"before":null`} {
		if !strings.Contains(got.body, want) {
			t.Errorf("no %s in %s", want, got.body)
		}
	}
	asked = authoring.RewindRequest{}
	for _, body := range []string{`{"to":["1"]}`, `{"to":["1"],"reason":"  "}`, `{"to":[],"reason":"x"}`, `{"reason":"x"}`, `{"to":[1],"reason":"x"}`} {
		if got := b.do(t, http.MethodPost, path, body); got.status != http.StatusUnprocessableEntity || asked.Rule != "" {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
}

func TestRewindsThatFail(t *testing.T) {
	t.Parallel()
	var asked authoring.RewindRequest
	var fault, second error
	b := setup(t, func(d *parts) { d.Rewind = rewinding(&asked, &fault, &second) })
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"a wrong value":      {&rules.PositionError{Text: "x", Why: "does not fit the column id of kind int", Want: "a whole number"}, 422, "invalid_body"},
		"no watermark":       {rewind.ErrNoWatermark, 409, "rule_no_watermark"},
		"a firing runs":      {engine.ErrRunning, 409, "rule_busy"},
		"others run":         {authoring.ErrBusy, 503, "source_unavailable"},
		"out of reach":       {&scanners.Error{Code: scanners.CodeUnreachable, Transient: true, Err: errors.New("refused")}, 503, "source_unavailable"},
		"the ledger is away": {errors.New("gone"), 503, "ledger_unavailable"},
		"no record":          {ledger.ErrNotRecorded, 503, "audit_unavailable"},
	} {
		fault = c.err
		got := b.do(t, http.MethodPost, "/api/v1/rules/negative-bin-stock/rewind", `{"to":["x"],"reason":"missed"}`)
		if p := got.asProblem(t); got.status != c.status || p.Code != c.code {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}
