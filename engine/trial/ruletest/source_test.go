package ruletest_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"tallyman/engine/trial/ruletest"
	"tallyman/internal/testenv"
	"tallyman/scanners/mysql"
	"tallyman/scanners/postgres"
)

// server is a real engine with a stock table of its own.
type server struct {
	owner  *sql.DB
	source ruletest.Database
	sql    string // a probe that only this engine speaks
	left   string // counts what tests could leave behind
}

func servers(t *testing.T) map[string]*server {
	t.Helper()
	open := func(driver, dsn string) *sql.DB {
		db, err := sql.Open(driver, dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	url := testenv.Postgres(t)
	pg, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	maria := testenv.MariaDB(t)
	my, err := mysql.Open(mysql.Config{URL: maria.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = pg.Close(), my.Close() })
	return map[string]*server{
		"postgres": {
			owner: open("pgx", url), source: pg,
			sql:  "SELECT DISTINCT ON (bin) bin, qty, qty::int8 AS whole, at FROM stock WHERE wh = :wh ORDER BY bin, qty",
			left: "SELECT count(*) FROM pg_class WHERE relname = 'stock' OR relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname LIKE 'pg_temp%')",
		},
		"mariadb": {
			owner: open("mysql", maria.DSN()), source: my,
			sql:  "SELECT bin, qty, CAST(qty AS SIGNED INTEGER) AS whole, at FROM stock WHERE wh <=> :wh ORDER BY IF(bin = 'A', 0, 1)",
			left: "SELECT count(*) FROM information_schema.tables WHERE table_schema = database()",
		},
	}
}

// TestRealEngine: the probe runs on the engine of the site, on the test's tables before the real ones, and nothing of
// it stays.
func TestRealEngine(t *testing.T) {
	t.Parallel()
	for name, s := range servers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exec := func(statement string) {
				t.Helper()
				if _, err := s.owner.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			exec("CREATE TABLE stock (wh INT NOT NULL, bin VARCHAR(20) NOT NULL, qty NUMERIC(12,3) NOT NULL, at TIMESTAMP NOT NULL)")
			exec("INSERT INTO stock VALUES (1, 'REAL', -9, '2026-01-01 00:00:00')")
			before := s.look(t)
			dir := folder(t, map[string]string{
				"rules.yaml": "version: 1\nrules:\n  - id: stock\n    schedule: {cron: \"* * * * *\"}\n    source: wms\n    probe: {sql: \"" + s.sql + "\", params: {wh: 1}}\n" +
					"    when: qty < 0 and whole <= 0\n    key: [bin]\n    notice: {type: ANY, warehouse: \"'1'\", title: \"{{ .bin }} {{ .qty }}\", fields: {qty: qty}}\n    deliver: [{sink: inbox}]\n",
				"a_test.yaml": "rules: rules.yaml\n" + test("rule: stock",
					`{at: 0m, tables: {stock: [{wh: 1, bin: A, qty: "-3", at: "2026-06-01 00:00:00"}, {wh: 2, bin: B, qty: -1, at: 2026-06-01}, {wh: 1, bin: C, qty: 4, at: 2026-06-01T08:00:00+08:00}]}, expect: {rows: 2, firing: 1, notices: [{data: {qty: "-3.000"}}]}}`,
					`{at: 1m, error: timeout, expect: {health: error, firing: 1}}`,
					`{at: 2m, rows: [{bin: A, qty: "-3.5", whole: "-3", at: "2026-06-01 00:00:00"}], expect: {firing: 1, notices: []}}`,
					`{at: 3m, tables: {stock: []}, expect: {rows: 0, firing: 0}}`,
				),
				"b_test.yaml": "rules: rules.yaml\n" + test("rule: stock",
					`{at: 0m, rows: [{bin: A, qty: "-3.50", whole: -3, at: null}, {bin: "7", qty: 0, whole: 0, at: null}], expect: {matched: 1, notices: [{title: A -3.50}]}}`),
				"c_test.yaml": "rules: rules.yaml\n" + test("rule: stock", `{at: 0m, rows: [{bin: A, qty: 1, whole: 1}], expect: {matched: 0}}`) +
					"  - {name: value, rule: stock, start: 2026-06-01T08:00:00Z, steps: [{at: 0m, rows: [{bin: A, qty: many, whole: 1, at: null}], expect: {matched: 0}}]}\n" +
					"  - {name: more, rule: stock, start: 2026-06-01T08:00:00Z, steps: [{at: 0m, rows: [{bin: A, qty: 1, whole: 1, at: null, wave: 7}], expect: {matched: 0}}]}\n" +
					"  - {name: table, rule: stock, start: 2026-06-01T08:00:00Z, steps: [{at: 0m, tables: {stock: [{wh: 1, bin: A, lot: 7}]}, expect: {matched: 0}}]}\n",
			})
			files, _ := ruletest.Load([]string{dir})
			for i, want := range []string{"", "", "the row has no at, which the probe returns|many is a value of kind text, the column is decimal|the probe returns no column wave|has no column lot"} {
				r, err := ruletest.Run(t.Context(), files[i:i+1], ruletest.Options{Source: s.source, Engine: "wms"})
				if err != nil {
					t.Fatal(err)
				}
				if want == "" {
					passes(t, r)
					continue
				}
				for piece := range strings.SplitSeq(want, "|") {
					if !strings.Contains(told(r), piece) {
						t.Errorf("no word of %q in\n%s", piece, told(r))
					}
				}
			}
			if after := s.look(t); after != before {
				t.Errorf("the database was %s, and is %s", before, after)
			}
			// In memory the same probe is refused, and says what to do.
			r, err := ruletest.Run(t.Context(), files[:1], ruletest.Options{Memory: memory})
			if err != nil || r.Failed != 1 || !strings.Contains(told(r), "--source NAME") {
				t.Errorf("%v\n%s", err, told(r))
			}
		})
	}
}

// look says what is in the database.
func (s *server) look(t *testing.T) string {
	t.Helper()
	var tables, rows int
	var bin, qty string
	if err := s.owner.QueryRowContext(t.Context(), s.left).Scan(&tables); err != nil {
		t.Fatal(err)
	}
	if err := s.owner.QueryRowContext(t.Context(), "SELECT count(*), min(bin), min(qty) FROM stock").Scan(&rows, &bin, &qty); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d tables, %d rows, %s %s", tables, rows, bin, qty)
}

// TestRealEngineOutOfReach is an error of the surroundings, not of a test.
func TestRealEngineOutOfReach(t *testing.T) {
	t.Parallel()
	source, err := postgres.Open(t.Context(), postgres.Config{URL: "postgres://nobody@127.0.0.1:1/none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	for _, step := range []string{`{at: 0m, tables: {bin_stock: []}, expect: {firing: 0}}`, `{at: 0m, rows: [], expect: {firing: 0}}`} {
		f, _ := parse(t, steps(step))
		if r, err := ruletest.Run(t.Context(), []*ruletest.File{f}, ruletest.Options{Source: source, Engine: "wms"}); err == nil {
			t.Errorf("%s: %s", step, told(r))
		}
	}
}
