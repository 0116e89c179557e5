package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"

	"tallyman/engine"
	"tallyman/engine/trial/preview"
	"tallyman/engine/trial/rulediff"
	"tallyman/internal/authoring"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/rules/problem"
)

// triedDraft is an answer that has everything.
func triedDraft() *authoring.DraftResult {
	keys := func(keys ...string) rulediff.Keys { return rulediff.Keys{Count: len(keys) + 1, Keys: keys} }
	return &authoring.DraftResult{
		Scope:    "119240",
		Problems: problem.List{{Code: "unknown_field", Line: 3, Col: 5, Message: "there is no field hwen", Hint: "did you mean when?", Rule: "negative-bin-stock"}},
		Changes:  []rulediff.Change{{Field: "when", Old: "qty < 0", New: "qty < -5 & qty > -9"}, {Field: "for", New: "10m"}},
		Lints:    problem.List{{Code: "cron_step", Line: 4, Col: 9, Message: "/90 steps beyond the 60 values", Hint: "write @every 90m", Rule: "negative-bin-stock"}},
		Warnings: []string{"key: every finding gets another identity"}, Preview: triedRule(), Notes: []string{"no snapshot"},
		Effect: &rulediff.Rule{
			From: rulediff.FromLedger, Old: &rulediff.Side{Outcome: "ok", Rows: 4, Matched: 3}, New: &rulediff.Side{Outcome: "failed", Error: "timeout"},
			Effect: &rulediff.Effect{
				Fire: keys(`["A"]`), Pend: keys(`["B"]`), Resolve: keys(`["C"]`), Keep: keys(`["D"]`), Drop: keys(`["E"]`), Unchanged: keys(`["F"]`), Again: keys(`["G"]`),
			},
		},
	}
}

func TestDraft(t *testing.T) {
	t.Parallel()
	var asked authoring.DraftRequest
	answer := triedDraft()
	b := setup(t, func(d *parts) {
		d.Draft = func(_ context.Context, q authoring.DraftRequest) (*authoring.DraftResult, error) {
			asked = q
			return answer, nil
		}
	})
	const path = "/api/v1/rules/negative-bin-stock/draft"
	for form, file := range map[string]string{"application/json": "draft.json", "application/xml": "draft.xml"} {
		got := b.do(t, http.MethodPost, path, `{"text":"id: negative-bin-stock","scope":"119240","at":"-1h","limit":5}`, "Accept", form)
		if got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		golden(t, file, got.body)
	}
	if asked.Rule != "negative-bin-stock" || asked.Text != "id: negative-bin-stock" || *asked.Scope != "119240" || asked.At != "-1h" || asked.Limit != 5 {
		t.Errorf("%+v", asked)
	}
	*answer = authoring.DraftResult{Effect: &rulediff.Rule{From: rulediff.FromNone}}
	got := b.do(t, http.MethodPost, path, `{"text":"x"}`)
	for _, part := range []string{`"problems":[]`, `"fields":[]`, `"warnings":[]`, `"lints":[]`, `"notes":[]`, `"compared":false`, `"fire":{"count":0,"keys":[]}`} {
		if !strings.Contains(got.body, part) {
			t.Errorf("%s has no %s", got.body, part)
		}
	}
	if asked.Scope != nil || asked.Limit != 20 || strings.Contains(got.body, `"preview"`) || strings.Contains(got.body, `"running"`) {
		t.Errorf("%+v %s", asked, got.body)
	}
	for _, body := range []string{``, `{}`, `{"text":""}`, `{"text":7}`, `{"text":"x","limit":201}`, `{"text":"x","save":true}`, `{"text":"` + strings.Repeat("库", 22_000) + `"}`} {
		asked.Text = "not asked"
		if got := b.do(t, http.MethodPost, path, body); got.status != http.StatusUnprocessableEntity && got.status != http.StatusBadRequest || asked.Text != "not asked" {
			t.Errorf("%.40s: %d %s", body, got.status, got.body)
		}
	}
}

// A caller who tries SQL is recorded before the SQL runs, whatever its result. A refused request is not recorded. The
// record has the size and the hash of the text, and never the text.
func TestDraftsAndPreviewsAreOnRecord(t *testing.T) {
	t.Parallel()
	var fault, unknown error
	tried := 0
	live := &fakeRules{}
	b := setup(t, func(d *parts) {
		d.Rules = live
		d.RuleSource = func(context.Context, string) (*wire.RuleSource, error) {
			return &wire.RuleSource{Text: "id: negative-bin-stock"}, unknown
		}
		d.Draft = func(context.Context, authoring.DraftRequest) (*authoring.DraftResult, error) {
			tried++
			return &authoring.DraftResult{}, fault
		}
		d.Preview = func(context.Context, authoring.PreviewRequest) (*preview.Report, error) {
			tried++
			return triedRule(), fault
		}
	})
	long := `SELECT 1 -- ` + strings.Repeat(`\"`, 30_000)
	draft := func() answer {
		return b.do(t, http.MethodPost, "/api/v1/rules/negative-bin-stock/draft", `{"text":"`+long+`","scope":"119240","at":"-1h"}`)
	}
	look := func() answer {
		return b.do(t, http.MethodPost, "/api/v1/rules/negative-bin-stock/preview", `{"scope":"119240","limit":5}`)
	}
	for _, fault = range []error{nil, context.DeadlineExceeded, errors.New("away")} {
		draft()
		look()
	}
	unknown = &engine.UnknownError{What: "rule", Name: "x"}
	live.err = unknown
	for _, got := range []answer{draft(), look()} {
		if got.status != http.StatusNotFound {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	unknown, live.err, fault = nil, nil, nil
	if got := b.do(t, http.MethodPost, "/api/v1/rules/negative-bin-stock/draft", `{"text":"x","check":true}`); got.status != http.StatusOK { // runs nothing
		t.Errorf("%d %s", got.status, got.body)
	}
	list := b.audit.all()
	if len(list) != 6 || tried != 7 {
		t.Fatalf("%d records of %d", len(list), tried)
	}
	for i, c := range list {
		want := [2]string{
			"rule.draft " + `{"at":"-1h","limit":20,"text":{"bytes":30012,"sha256":"` + sumOf(strings.ReplaceAll(long, `\"`, `"`)) + `"}}`,
			"rule.preview " + `{"limit":5,"text":{"bytes":22,"sha256":"` + sumOf("id: negative-bin-stock") + `"}}`,
		}[i%2]
		if got := c.Action + " " + string(c.After); got != want || c.Object != "rule:negative-bin-stock:119240" || c.By != "anonymous" || c.Via != ledger.ViaNone {
			t.Errorf("%+v %s, want %s", c, got, want)
		}
	}
	b.audit.fail(ledger.ErrNotRecorded)
	for _, got := range []answer{draft(), look()} {
		if got.status != http.StatusServiceUnavailable || got.asProblem(t).Code != "audit_unavailable" {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	if tried != 7 {
		t.Error("what could not be recorded was tried")
	}
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestDraftsAndSourcesOfOneWarehouse(t *testing.T) {
	t.Parallel()
	source := &wire.RuleSource{
		Rule: "negative-bin-stock", File: "rules/stock.yaml", Line: 4, Text: "  - id: negative-bin-stock\n    when: qty < 0 and sku != \"<A>\"", Version: "0a1b2c",
		Problems: []wire.FileProblem{{Code: "plan_changed", File: "rules/stock.yaml", Line: 6, Col: 7, Message: "another plan", Rule: "negative-bin-stock"}},
		Warnings: []wire.FileProblem{{Code: "text_as_number", File: "rules/stock.yaml", Line: 8, Col: 12, Message: "the text sku is compared", Hint: "write float(sku)", Rule: "negative-bin-stock"}},
		Disk:     &wire.DiskSource{File: "rules/stock.yaml", Line: 5, Text: "  - id: negative-bin-stock\n    hwen: x", Problems: ruleFiles().Problems}, Scopes: []string{"119240"},
	}
	b := setup(t, func(d *parts) {
		d.Auth = somePeople()
		d.RuleSource = func(_ context.Context, id string) (*wire.RuleSource, error) {
			if id != source.Rule {
				return nil, &engine.UnknownError{What: "rule", Name: id}
			}
			one := *source
			return &one, nil
		}
		d.Draft = func(context.Context, authoring.DraftRequest) (*authoring.DraftResult, error) {
			return &authoring.DraftResult{}, nil
		}
	})
	const path = "/api/v1/rules/negative-bin-stock"
	for form, file := range map[string]string{"application/json": "source.json", "application/xml": "source.xml"} {
		golden(t, file, b.do(t, http.MethodGet, path+"/source", "", "Authorization", "Bearer admin", "Accept", form).body)
	}
	if got := b.do(t, http.MethodGet, path+"/source", "", "Authorization", "Bearer site"); got.status != http.StatusOK || !strings.Contains(got.body, "qty") || strings.Contains(got.body, "disk") {
		t.Errorf("%d %s", got.status, got.body)
	}
	for _, others := range [][]string{{"119240", "119241"}, {""}} {
		source.Scopes = others
		if got := b.do(t, http.MethodGet, path+"/source", "", "Authorization", "Bearer site"); got.status != http.StatusForbidden || strings.Contains(got.body, "qty") {
			t.Errorf("%q: %d %s", others, got.status, got.body)
		}
	}
	if got := b.do(t, http.MethodPost, path+"/draft", `{"text":"x","scope":"119240"}`, "Authorization", "Bearer site"); got.status != http.StatusForbidden {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := b.do(t, http.MethodGet, "/api/v1/rules/none/source", "", "Authorization", "Bearer admin"); got.status != http.StatusNotFound {
		t.Errorf("%d %s", got.status, got.body)
	}
}
