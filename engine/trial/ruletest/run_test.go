package ruletest_test

import (
	"regexp"
	"strings"
	"testing"

	"tallyman/engine/trial/ruletest"
)

// TestDesignSample: the sample of the design works as it stands, anchors and aliases too.
func TestDesignSample(t *testing.T) {
	t.Parallel()
	files, problems := ruletest.Load([]string{"testdata"})
	if len(files) != 1 || len(problems) != 0 {
		t.Fatalf("%d files, %v", len(files), problems)
	}
	r, err := ruletest.Run(t.Context(), files, ruletest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	passes(t, r)
	if r.Tests != 1 || r.Steps != 6 || len(r.Unchecked) != 1 {
		t.Errorf("%+v", r)
	}
}

const negative = `{wh_id: 119240, bin_code: A-01, sku: S1, qty: "-3", wave_no: 77}`

func TestWhatAStepMayExpect(t *testing.T) {
	t.Parallel()
	passes(t, run(t, steps(
		`{at: 0s, rows: [`+negative+`, {wh_id: 119240, bin_code: A-02, sku: S1, qty: "0", wave_no: null}], expect: {rows: 2, matched: 1, errored: 0, pending: 1, firing: 0, health: ok}}`,
		`{at: 5m, rows: [`+negative+`]}`,
		`{at: 10m, rows: [`+negative+`, `+negative+`], expect: {health: degraded, firing: 1, notices: [{
            rule: negative-bin-stock, scope: "119240", key: [119240, A-01, S1], typeId: 1, warehouse: "119240", modal: popup, count: 1,
            data: {qty: "-3"}, labels: {severity: high}, createdAt: 2026-06-01T08:10:00+08:00, expireTime: 86400, sinks: [inbox], episode: "1780272600000000"}]}}`,
		`{at: 10m30s, error: "relation does not exist", expect: {health: error, firing: 1}}`,
	), ruletest.Options{}))
	passes(t, run(t, "tests:\n  - {name: a, rule: replenish-pick-face, start: 2026-06-01 08:00:00Z, columns: {shortage: int, ID: int, changed_at: time, bin_code: text, wh_id: int}, steps: [{at: 0, rows: [], expect: {health: ok, rows: 0}}]}\n", ruletest.Options{}))
}

// TestRowsBeyondMaxRows: a rule of mode event takes as many passes as it needs in one step, as with a real probe.
func TestRowsBeyondMaxRows(t *testing.T) {
	t.Parallel()
	passes(t, run(t, test("rule: replenish-pick-face",
		`at: 0m
        rows:
          - {id: 1, wh_id: 1, bin_code: A, shortage: 1, changed_at: 2026-06-01T07:50:00+08:00}
          - {id: 2, wh_id: 1, bin_code: B, shortage: 0, changed_at: 2026-06-01T07:51:00+08:00}
          - {id: 3, wh_id: 1, bin_code: C, shortage: 3, changed_at: 2026-06-01T07:51:00+08:00}
          - {id: 4, wh_id: 1, bin_code: D, shortage: 4, changed_at: 2026-06-01T07:51:00+08:00}
          - {id: 5, wh_id: 1, bin_code: E, shortage: 5, changed_at: 2026-06-01T07:52:00+08:00}
        expect: {matched: 4, notices: [{status: event, data: {bin: A}}, {data: {bin: C}}, {data: {bin: D}}, {data: {bin: E}}]}`,
	), ruletest.Options{}))
}

func TestRunChoosesTests(t *testing.T) {
	t.Parallel()
	src := `tests:
  - {name: one, rule: replenish-pick-face, start: 2026-06-01T08:00:00Z, steps: [{at: 0m, rows: [], expect: {firing: 0}}]}
  - {name: two, rule: replenish-pick-face, start: 2026-06-01T08:00:00Z, steps: [{at: 0m, rows: [], expect: {firing: 7}}]}
  - {name: three, rule: negative-bin-stock, scope: "119241", start: 2026-06-01T08:00:00Z, steps: [{at: 0m, rows: [], expect: {firing: 0}}]}
`
	for pattern, want := range map[string]string{"": "3 1", "^one$": "1 0", "replenish": "2 1", "t[wh]": "2 1", "nothing": "0 0"} {
		r := run(t, src, ruletest.Options{Run: regexp.MustCompile(pattern)})
		if got := strings.Join([]string{string(rune('0' + r.Tests)), string(rune('0' + r.Failed))}, " "); got != want {
			t.Errorf("%q: %s, want %s", pattern, got, want)
		}
		if r.Passed() != (want == "1 0") {
			t.Errorf("%q: passed %v", pattern, r.Passed())
		}
	}
}

// TestTypesAreChecked against the catalogue that the file names, or that of the options.
func TestTypesAreChecked(t *testing.T) {
	t.Parallel()
	const src = "tests:\n  - {name: a, rule: replenish-pick-face, start: 2026-06-01T08:00:00Z, steps: [" +
		"{at: 0m, rows: [{id: 1, wh_id: 1, bin_code: A, shortage: 1, changed_at: 2026-06-01T07:00:00Z}], expect: {firing: 0}}]}\n"
	dir := folder(t, map[string]string{"types.yaml": "types:\n  - {code: REP_NOTICE, id: 1, name: N, fields: {bin: {type: bool}}}\n"})
	r := run(t, "rules: stock.yaml\ntypes: "+dir+"/types.yaml\n"+src, ruletest.Options{})
	if r.Passed() || !strings.Contains(told(r), "stock.yaml:43:117: data_field_kind") {
		t.Errorf("a type that does not fit: %s", told(r))
	}
	r = run(t, "rules: stock.yaml\ntypes: nowhere.yaml\n"+src, ruletest.Options{})
	if r.Passed() || !strings.Contains(told(r), "nowhere.yaml") {
		t.Errorf("a catalogue that is not there: %s", told(r))
	}
	r = run(t, "rules: ../../../../examples/wms/rules/stock.yaml\ntypes: ../../../../configs/types.yaml\ntests:\n"+
		"  - {name: a, rule: count-mismatch, scope: \"119240\", start: 2026-06-01T08:00:00Z, steps: [{at: 0m, rows: [], expect: {firing: 0}}]}\n", ruletest.Options{})
	if passes(t, r); len(r.Unchecked) != 0 {
		t.Errorf("unchecked: %v", r.Unchecked)
	}
}
