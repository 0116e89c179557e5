package ruletest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/engine/trial/ruletest"
)

// covered runs the tests of stock.yaml and says what they miss.
func covered(t *testing.T, src string) string {
	t.Helper()
	r := run(t, src, ruletest.Options{Cover: true})
	passes(t, r)
	var b strings.Builder
	for _, g := range r.Cover.Missing {
		fmt.Fprintf(&b, "%s:%d:%d %s %s %s: %s\n", filepath.Base(g.File), g.Line, g.Col, g.Rule, g.What, g.Text, g.Miss)
	}
	c := r.Cover
	fmt.Fprintf(&b, "%g%%: %d/%d %d/%d %d/%d\n", c.Percent, c.Rules.Reached, c.Rules.All, c.Branches.Reached, c.Branches.All, c.Deliveries.Reached, c.Deliveries.All)
	return b.String()
}

func TestCover(t *testing.T) {
	t.Parallel()
	event := `
  - name: event
    rule: replenish-pick-face
    start: 2026-06-01T08:00:00+08:00
    steps: [{at: 0m, rows: [{shortage: 0, id: 1, wh_id: 1, bin_code: A, changed_at: 2026-06-01T07:00:00Z}, {shortage: 1, id: 2, wh_id: 1, bin_code: A, changed_at: 2026-06-01T07:00:01Z}], expect: {matched: 1}}]
`
	bin := func(sku, qty string) string {
		return `{wh_id: 119240, bin_code: A-01, sku: ` + sku + `, qty: ` + qty + `, wave_no: 77}`
	}
	for name, c := range map[string]struct{ src, want string }{
		"hardly anything": {
			steps(`{at: 0m, rows: [], expect: {firing: 0}}`),
			`stock.yaml:15:11 negative-bin-stock branch qty < 0: never true and never false
stock.yaml:15:28 negative-bin-stock branch sku startsWith "TEST-": never true and never false
stock.yaml:30:22 negative-bin-stock delivery inbox: no notice goes there
stock.yaml:32:9 replenish-pick-face rule : no test
10%: 1/2 0/6 0/2
`,
		},
		"what was decided before is not reached": {
			steps(`{at: 0m, rows: [`+bin("TEST-1", "1")+`], expect: {firing: 0}}`) + event,
			`stock.yaml:15:11 negative-bin-stock branch qty < 0: never true
stock.yaml:15:28 negative-bin-stock branch sku startsWith "TEST-": never true and never false
stock.yaml:30:22 negative-bin-stock delivery inbox: no notice goes there
60%: 2/2 3/6 1/2
`,
		},
		"scopes and tests together, whatever the order of their columns": {
			steps(`{at: 0m, rows: [`+bin("TEST-1", "-1")+`, `+bin("S1", "1")+`], expect: {firing: 0}}`) + strings.NewReplacer("tests:\n", "", "it", "two", "119240", "119241").Replace(
				steps(`{at: 0m, rows: [{qty: -1, a: 1, sku: S1, wh_id: 119241, bin_code: B, wave_no: 1}], expect: {pending: 1}}`)) + event,
			`stock.yaml:30:22 negative-bin-stock delivery inbox: no notice goes there
90%: 2/2 6/6 1/2
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := covered(t, c.src); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestCoverOfSeveralPacks: rule packs that do not know of each other may have rules of the same id.
func TestCoverOfSeveralPacks(t *testing.T) {
	t.Parallel()
	pack := "version: 1\nrules:\n  - {id: a, schedule: {cron: \"* * * * *\"}, source: s, probe: {sql: SELECT 1 AS n}, key: [n], " +
		"notice: {type: T, warehouse: \"'1'\", title: T, fields: {}}, deliver: [{sink: inbox}]}\n"
	dir := folder(t, map[string]string{
		"one/rules.yaml": pack, "two/rules.yaml": pack,
		"one/a_test.yaml": "rules: rules.yaml\n" + test("rule: a", `{at: 0m, rows: [{n: 1}], expect: {firing: 1}}`),
	})
	files, _ := ruletest.Load([]string{dir})
	r, err := ruletest.Run(t.Context(), files, ruletest.Options{Cover: true, Extra: ruletest.RuleFiles([]string{dir})})
	if err != nil {
		t.Fatal(err)
	}
	if passes(t, r); r.Cover.Percent != 50 || len(r.Cover.Missing) != 1 || !strings.Contains(r.Cover.Missing[0].File, "two") {
		t.Errorf("%+v", r.Cover)
	}
}

// TestCoverOfAResult: a condition over the result as a whole, one that is overridden in a scope, and none at all.
func TestCoverOfAResult(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"rules.yaml": `version: 1
defaults:
  schedule: {cron: "* * * * *"}
  source: wms
  probe: {sql: SELECT 1}
  notice: {type: ANY, warehouse: "'1'", title: Look, fields: {}}
  deliver: [{sink: inbox}]
rules:
  - id: result
    per: result
    when: row_count > 1 or any(rows, .qty < 0)
  - id: all
    key: [qty]
  - id: scoped
    key: [qty]
    when: qty < 0
    scopes: [{name: a}, {name: b, overrides: {when: qty < 1}}]
`,
		"a_test.yaml": `rules: rules.yaml
tests:
  - {name: a, rule: result, start: 2026-06-01T08:00:00Z, steps: [{at: 0m, rows: [{qty: 1}, {qty: 2}], expect: {firing: 1, notices: [{status: firing}]}}, {at: 1m, rows: [{qty: 1}], expect: {firing: 0}}]}
  - {name: b, rule: scoped, scope: a, start: 2026-06-01T08:00:00Z, steps: [{at: 0m, rows: [{qty: 1}, {qty: -2}], expect: {firing: 1}}]}
`,
	})
	files, _ := ruletest.Load([]string{dir})
	r, err := ruletest.Run(t.Context(), files, ruletest.Options{Cover: true, Extra: ruletest.RuleFiles([]string{dir})})
	if err != nil {
		t.Fatal(err)
	}
	passes(t, r)
	var got []string
	for _, g := range r.Cover.Missing {
		got = append(got, fmt.Sprintf("%d:%d %s %s", g.Line, g.Col, g.Text, g.Miss))
	}
	want := "11:28 any(rows, .qty < 0) never true; 12:9  no test; 17:53 qty < 1 never true and never false"
	if s := strings.Join(got, "; "); s != want {
		t.Errorf("got %s\nwant %s", s, want)
	}
}
