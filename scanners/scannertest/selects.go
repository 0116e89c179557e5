package scannertest

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// literalKind is the expected kind and value of a literal.
type literalKind struct {
	kind row.Kind
	text string
	arg  any // a parameter that equals the literal
}

// literalTime is the time of the literals.
var literalTime = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

// literalKinds are the expected kinds and values of the literals, by name.
var literalKinds = map[string]literalKind{
	"bool":    {row.Bool, "true", true},
	"small":   {row.Int, "-3", int64(-3)},
	"big":     {row.Int, "9007199254740993", int64(9007199254740993)},
	"ratio":   {row.Float, "0.25", 0.25},
	"decimal": {row.Decimal, "-12.5", row.DecimalOf(-125, 1)},
	"text":    {row.Text, "Zoë 'x' 货位", "Zoë 'x' 货位"},
	"bytes":   {row.Bytes, "00ff", row.BytesOf("\x00\xff")},
	"date":    {row.Date, "2026-06-01", row.DateOf(literalTime)},
	"time":    {row.Time, "2026-06-01T08:00:00Z", literalTime},
	"zoned":   {row.Time, "2026-06-01T00:00:00Z", nil},
	"json":    {row.JSON, "", nil},
}

// literals calls f for each literal of the dialect, by name, with the kind and value that are expected there.
func literals(d Dialect, f func(name, sql string, want literalKind)) {
	for _, name := range slices.Sorted(maps.Keys(d.Literals)) {
		want := literalKinds[name]
		if kind, found := d.LiteralKinds[name]; found {
			want.kind, want.text = kind, textOf(want.text, kind)
		}
		f(name, d.Literals[name], want)
	}
}

// answers checks that the source still scans. answers needs no table.
func answers(t T, d Dialect, s scanners.Source) {
	t.Helper()
	if got := One(t, s, "SELECT count(*) AS n FROM (SELECT 1 AS x"+d.From+") y", nil); got != "1" {
		t.Errorf("the source does not scan as before: %s", got)
	}
}

func ping(t T, d Dialect) {
	t.Helper()
	s := d.New(t).Open(t, 1)
	for range 3 {
		if err := s.Ping(t.Context()); err != nil {
			t.Fatalf("ping: %v", err)
		}
	}
	answers(t, d, s)
}

// clock asks the server for its time. `rules check --source` uses the time to warn of wrong zones and clocks.
func clock(t T, d Dialect) {
	t.Helper()
	c, ok := d.New(t).Open(t, 1).(scanners.Clock)
	if !ok {
		t.Skip("the driver cannot read the server's clock")
	}
	at, err := c.Clock(t.Context())
	if err != nil {
		t.Fatalf("the server's clock: %v", err)
	}
	if off := time.Since(at).Abs(); off > 24*time.Hour {
		t.Errorf("the server's clock is away from ours by %s", off.Round(time.Minute))
	}
}

// kinds scans a value of each kind.
func kinds(t T, d Dialect) {
	t.Helper()
	s := d.New(t).Open(t, 1)
	literals(d, func(name, sql string, want literalKind) {
		p := Prepare(t, s, "SELECT "+sql+" AS v"+d.From)
		c, rows := p.Columns()[0], Rows(t, p, nil)
		switch v := rows[0].Values[0]; {
		case c.Kind != want.kind || v.Kind() != want.kind || c.Name != "v" || c.DBType == "":
			t.Errorf("%s: the column %+v has a %s, want a %s", name, c, v.Kind(), want.kind)
		case valueText(v) != want.text && want.text != "":
			t.Errorf("%s is %q, want %q", name, v, want.text)
		}
	})
}

// nulls scans a NULL of each kind.
func nulls(t T, d Dialect) {
	t.Helper()
	s := d.New(t).Open(t, 1)
	literals(d, func(name, sql string, want literalKind) {
		p := Prepare(t, s, "SELECT CASE WHEN 1 = 0 THEN "+sql+" END AS v"+d.From)
		if c, v := p.Columns()[0], Rows(t, p, nil)[0].Values[0]; !v.IsNull() || !c.Nullable || c.Kind != want.kind {
			t.Errorf("%s: the column %+v has %q, want a NULL", name, c, v)
		}
	})
}

// parameters compares a value of each kind with a parameter.
func parameters(t T, d Dialect) {
	t.Helper()
	s := d.New(t).Open(t, 1)
	literals(d, func(name, sql string, want literalKind) {
		if want.arg == nil || want.kind == row.Time { // times are compared in builtinTimes
			return
		}
		p := Prepare(t, s, "SELECT 1 AS n"+d.From+" WHERE "+sql+" = :x")
		if rows := Rows(t, p, map[string]any{"x": want.arg, "unused": 1}); len(rows) != 1 {
			t.Errorf("%s = %v (%T): %d rows, want 1", name, want.arg, want.arg, len(rows))
		}
		if rows := Rows(t, p, map[string]any{"x": nil}); len(rows) != 0 {
			t.Errorf("%s = NULL: %d rows, want 0", name, len(rows))
		}
	})
	p := Prepare(t, s, "SELECT 1 AS n"+d.From+" WHERE "+d.Literals["small"]+" = :warehouse")
	for _, args := range []map[string]any{nil, {"warehous": 1}, {"warehouse": []int{1}}} {
		_, err := p.Scan(t.Context(), scanners.Request{Args: args}, ignore)
		wantError(t, "a scan without its parameter", err, scanners.CodeParam, false)
	}
}

// builtinTimes compares times with the engine's own parameters.
func builtinTimes(t T, d Dialect) {
	t.Helper()
	s := d.New(t).Open(t, 1)
	args := map[string]any{"now": literalTime, "until": literalTime.Add(-time.Second), "last_run_at": literalTime.Add(-time.Minute), "scope": "1"}
	at := d.Literals["time"]
	for where, want := range map[string]int{
		at + " <= :now": 1, at + " < :now": 0, at + " > :last_run_at AND " + at + " <= :now": 1, at + " <= :until": 0, ":now > :until": 1, "'1' = :scope": 1,
	} {
		if rows := Rows(t, Prepare(t, s, "SELECT 1 AS n"+d.From+" WHERE "+where), args); len(rows) != want {
			t.Errorf("%s: %d rows, want %d", where, len(rows), want)
		}
	}
}

// columnNames checks that names are folded to lower case, and that a repeated name is refused.
func columnNames(t T, d Dialect) {
	t.Helper()
	s := d.New(t).Open(t, 1)
	var names []string
	for _, c := range Prepare(t, s, `SELECT 1 AS Bin_Code, 2 AS "Mixed", 3 AS "两"`+d.From).Columns() {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "bin_code mixed 两" {
		t.Errorf("the columns are %s", got)
	}
	for _, sql := range []string{"SELECT 1 AS id, 2 AS ID", `SELECT 1 AS "Bin", 2 AS "bIN"`} {
		_, err := s.Prepare(t.Context(), Parse(t, sql+d.From))
		if e, ok := errors.AsType[*scanners.Error](err); !ok || e.Code != scanners.CodeColumn && e.Code != scanners.CodeStatement || e.Transient {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// statement checks statements that the database refuses, and the errors of the source.
func statement(t T, d Dialect) {
	t.Helper()
	s := d.New(t).Open(t, 1)
	for _, sql := range []string{
		"SELECT nope FROM (SELECT 1 AS id" + d.From + ") x", "SELECT id FROM tallyman_nowhere", "SELECT id FROM", "SELECT id, small FROM (SELECT 1 AS id" + d.From + ") x",
		"SELECT tallyman_nowhere(1) AS n" + d.From,
	} {
		_, err := s.Prepare(t.Context(), Parse(t, sql))
		wantError(t, sql, err, scanners.CodeStatement, false)
	}
	answers(t, d, s)
}

// guard checks statements that write: each is refused before the server sees it.
func guard(t T, d Dialect) {
	t.Helper()
	for _, sql := range []string{
		"INSERT INTO tallyman_nowhere VALUES (1)", "UPDATE tallyman_nowhere SET id = 1", "DELETE FROM tallyman_nowhere", "TRUNCATE TABLE tallyman_nowhere",
		"DROP TABLE tallyman_nowhere", "CREATE TABLE tallyman_nowhere (id int)", "SELECT id INTO tallyman_other FROM tallyman_nowhere",
		"SELECT id FROM tallyman_nowhere FOR UPDATE", "SELECT 1 AS n; DELETE FROM tallyman_nowhere", "WITH x AS (DELETE FROM tallyman_nowhere) SELECT 1 AS n",
		"CALL tallyman_nowhere()", "COMMIT", "GRANT SELECT ON tallyman_nowhere TO PUBLIC",
	} {
		if _, faults := probe.Parse(sql); len(faults) == 0 {
			t.Errorf("%s is taken for a statement that reads", sql)
		}
	}
	s := d.New(t).Open(t, 1)
	for _, sql := range d.Refused {
		stmt, faults := probe.Parse(sql)
		if len(faults) > 0 {
			continue // refused even earlier
		}
		if _, err := s.Prepare(t.Context(), stmt); err == nil || scanners.IsTransient(err) {
			t.Errorf("%s: %v, want a refusal", sql, err)
		}
	}
	answers(t, d, s)
}
