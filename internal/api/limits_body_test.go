package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tallyman/internal/api"
)

// TestBodiesOfEveryOperation sends each operation that takes a body one that is too large, and some that are nested too deeply. None is worth
// more than a refusal.
func TestBodiesOfEveryOperation(t *testing.T) {
	t.Parallel()
	f := &fakeRules{scopes: twoScopes()}
	b := newBundle(func(d *api.Deps) { d.Rules, d.History, d.RuleFiles = f, f, ruleFiles })
	var doc document
	if err := json.Unmarshal([]byte(b.handle(t, "/openapi.json").body), &doc); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat(" ", 9<<20)
	deep := func(opens, inner, closes string, depth int) string {
		return strings.Repeat(opens, depth) + inner + strings.Repeat(closes, depth)
	}
	operations := 0
	for path, item := range doc.Paths {
		for method, op := range item {
			if op.RequestBody == nil {
				continue
			}
			operations++
			path := strings.NewReplacer("{queue}", "replenishment", "{code}", "REP_NOTICE", "{id}", "1").Replace(path)
			for _, c := range []struct {
				body  string
				codes []string
			}{
				{large, []string{"body_too_large"}},
				{deep("[", "", "]", 5_000), []string{"invalid_body", "body_too_large"}},
				{deep(`{"a":`, "1", "}", 5_000), []string{"invalid_body", "body_too_large"}},
				{deep("[", "", "]", 10_001), []string{"malformed_body", "body_too_large"}},
			} {
				got := b.handleBody(t, strings.ToUpper(method), path, c.body, "Content-Type", "application/json")
				if p := got.asProblem(t); got.status >= http.StatusInternalServerError || !slices.Contains(c.codes, p.Code) {
					t.Errorf("%s %.20s…: %d %.300s", op.OperationID, c.body, got.status, got.body)
				}
			}
		}
	}
	if operations < 15 {
		t.Errorf("only %d operations take a body", operations)
	}
}
