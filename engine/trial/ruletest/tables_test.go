package ruletest_test

import (
	"strings"
	"testing"

	"tallyman/engine/trial/ruletest"
)

// TestTables: the probe's own SQL runs, with params and watermark bound; a table has one shape in the whole file.
func TestTables(t *testing.T) {
	t.Parallel()
	passes(t, run(t, steps(
		`{at: 0m, tables: {bin_stock: [`+negative+`, {wh_id: 119241, bin_code: B-01, sku: S1, qty: "-3"}, {WH_ID: 119240, bin_code: A-02, sku: S1, qty: "0.5"}]}, expect: {rows: 1, pending: 1}}`,
		`{at: 5m, error: unreachable, expect: {health: error}}`,
		`{at: 10m, tables: {BIN_STOCK: [`+negative+`]}, expect: {firing: 1, notices: [{data: {qty: "-3"}}]}}`,
		`{at: 15m, tables: {}, expect: {rows: 0, firing: 1}}`,
		`{at: 20m, tables: {bin_stock: []}, expect: {firing: 1}}`,
		`{at: 25m, tables: {bin_stock: []}, expect: {firing: 0}}`,
		`{at: 30m, rows: [`+negative+`], expect: {pending: 1}}`, // rows may stand beside tables
	)+`  - name: a table that only another test fills
    rule: negative-bin-stock
    scope: "119240"
    start: 2026-06-01T08:00:00+08:00
    steps: [{at: 0m, tables: {bin_stock: []}, expect: {rows: 0}}]
`, ruletest.Options{}))
}

func TestTablesOfAnEventRule(t *testing.T) {
	t.Parallel()
	need := func(id, at string) string {
		return `{id: ` + id + `, wh_id: 1, bin_code: "B` + id + `", shortage: 1.5, changed_at: 2026-06-01T` + at + `Z}`
	}
	passes(t, run(t, test("rule: replenish-pick-face",
		`at: 0m
        tables: {replenishment_need: [`+need("1", "00:00:00")+`, `+need("2", "22:59:00")+`, `+need("3", "00:00:00")+`]}
        expect: {notices: []}`,
		`at: 2m
        tables: {replenishment_need: [`+need("1", "00:00:00")+`, `+need("3", "00:00:00")+`, `+need("4", "00:01:20")+`, `+need("5", "00:01:30")+`, `+need("6", "00:01:31")+`]}
        expect: {notices: [{key: [1]}, {key: [3]}, {key: [4]}, {key: [5]}]}`,
		`{at: 4m, tables: {replenishment_need: [`+need("6", "00:01:31")+`, `+need("5", "00:01:30")+`]}, expect: {rows: 1, notices: [{key: [6]}]}}`,
	), ruletest.Options{}))
}

// TestTablesThatTheProbeDoesNotRunOn fail with what to do about it.
func TestTablesThatTheProbeDoesNotRunOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sql, tables, want string }{
		"SQL of another database": {
			"SELECT DISTINCT ON (bin) bin, qty::numeric AS qty FROM stock", "{stock: [{bin: A, qty: 1}]}",
			"if SQLite does not know this SQL, test the rule on the real engine: --source NAME",
		},
		"a column that no row gives": {"SELECT bin, qty, lot FROM stock", "{stock: [{bin: A, qty: 1}]}", "no such column: lot"},
		"a table that is not there":  {"SELECT bin, qty FROM stock", "{}", "no such table: stock"},
		"a table without columns":    {"SELECT bin, qty FROM stock", "{stock: []}", "no row names its columns"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, map[string]string{
				"rules.yaml": "version: 1\nrules:\n  - id: sql\n    schedule: {cron: \"* * * * *\"}\n    source: wms\n    probe: {sql: \"" + c.sql + "\"}\n" +
					"    key: [bin]\n    notice: {type: ANY, warehouse: \"'1'\", title: Look, fields: {}}\n    deliver: [{sink: inbox}]\n",
				"a_test.yaml": "rules: rules.yaml\n" + test("rule: sql", `{at: 0m, tables: `+c.tables+`, expect: {firing: 0}}`),
			})
			files, _ := ruletest.Load([]string{dir})
			r, err := ruletest.Run(t.Context(), files, ruletest.Options{Memory: memory})
			if err != nil || r.Failed != 1 || !strings.Contains(told(r), c.want) {
				t.Errorf("%v\n%s", err, told(r))
			}
		})
	}
}

// TestDeclaredColumns: rows and tables of a test hold what the database holds, and the rule reads them by its
// declarations.
func TestDeclaredColumns(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"rules.yaml": `version: 1
rules:
  - id: moves
    mode: event
    schedule: {cron: "*/5 * * * *"}
    source: wms
    probe:
      sql: SELECT id, created, seconds, held FROM moves WHERE created > :wm_created AND created < :now AND seconds < :now
      columns: {created: {type: time, format: "2006-01-02 15:04:05.9999999"}, seconds: {type: unix_seconds}, held: {type: bool}}
      watermark: {columns: [created], initial: {created: "-1h"}}
    when: held and seconds == created
    key: [id]
    notice: {type: ANY, warehouse: "'1'", title: "At {{ .created | date \"HH:mm:ss\" }}", fields: {}}
    deliver: [{sink: inbox}]
`,
		"a_test.yaml": "rules: rules.yaml\n" + test("rule: moves",
			`{at: 0m, rows: [{id: 1, created: "2026-05-31 23:59:59", seconds: 1780271999, held: 1}, {id: 2, created: "2026-05-31 23:59:59.5", seconds: 1780271999, held: 1}], expect: {notices: [{key: [1], title: "At 23:59:59"}]}}`,
			`at: 5m
        tables: {moves: [{id: 3, created: "2026-05-31 23:59:59.5", seconds: 1780271999, held: 1}, {id: 4, created: "2026-06-01 00:04:00", seconds: 1780272240, held: 1},
          {id: 5, created: "2026-06-01 00:04:01", seconds: 1780272241, held: 0}, {id: 6, created: "2026-06-01 00:06:00", seconds: 1780272360, held: 1}]}
        expect: {rows: 2, notices: [{key: [4], title: "At 00:04:00"}]}`),
	})
	files, problems := ruletest.Load([]string{dir})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r, err := ruletest.Run(t.Context(), files, ruletest.Options{Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	passes(t, r)
}
