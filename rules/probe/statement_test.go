package probe_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tallyman/rules/probe"
)

func parse(t interface{ Fatalf(string, ...any) }, sql string) *probe.Statement {
	stmt, faults := probe.Parse(sql)
	if len(faults) > 0 {
		t.Fatalf("%s: %+v", sql, faults)
	}
	return stmt
}

func TestParams(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sql, dollar, question, params string }{
		{"SELECT :a, :b, :a", "SELECT $1, $2, $1", "SELECT ?, ?, ?", "a b"},
		{"SELECT :now, :x", "SELECT $1::timestamptz, $2", "SELECT ?, ?", "now x"},
		{"SELECT :until::date", "SELECT $1::timestamptz::date", "SELECT ?::date", "until"},
		{"SELECT x::int, a:b, 1:c FROM t", "SELECT x::int, a:b, 1:c FROM t", "SELECT x::int, a:b, 1:c FROM t", ""},
		{`SELECT ':a', ":a", E'\':a', $$:a$$, $q$:a$q$ -- :a` + "\n/* :a /* :a */ :a */", "", "", ""},
		{"SELECT `:a`, [b] FROM t WHERE x=:c", "SELECT `:a`, [b] FROM t WHERE x=$1", "SELECT `:a`, [b] FROM t WHERE x=?", "c"},
		{`SELECT \:a, arr[1\:2], arr[:n]`, `SELECT :a, arr[1:2], arr[$1]`, `SELECT :a, arr[1:2], arr[?]`, "n"},
		{"SELECT :Qty_1x", "SELECT $1", "SELECT ?", "Qty_1x"},
		{"SELECT ä:a, ::a, a[:1], : a", "SELECT ä:a, ::a, a[:1], : a", "SELECT ä:a, ::a, a[:1], : a", ""},
		{"SELECT 1 WHERE (c, i) > (:wm_changed_at, :wm_id)", "SELECT 1 WHERE (c, i) > ($1, $2)", "SELECT 1 WHERE (c, i) > (?, ?)", "wm_changed_at wm_id"},
	} {
		stmt := parse(t, c.sql)
		if c.dollar == "" {
			c.dollar, c.question = c.sql, c.sql
		}
		dollar, order := stmt.Render(probe.Dollar)
		question, bound := stmt.Render(probe.Question)
		if dollar != c.dollar || question != c.question {
			t.Errorf("%s\n  $: %s\n  ?: %s", c.sql, dollar, question)
		}
		if got := strings.Join(stmt.Params, " "); got != c.params || !slices.Equal(order, stmt.Params) {
			t.Errorf("%s: params %q, bound as %v", c.sql, got, order)
		}
		if n := strings.Count(c.question, "?"); len(bound) != n {
			t.Errorf("%s: %d question marks, bound %v", c.sql, n, bound)
		}
	}
}

func TestBuiltins(t *testing.T) {
	t.Parallel()
	stmt := parse(t, "SELECT :now, :scheduled_at, :last_run_at, :until, :scope, :wm_id, :wm_changed_at, :wm_, :mine")
	if len(stmt.Times) != 4 || stmt.Times["scope"] || !stmt.Times["until"] {
		t.Errorf("times: %v", stmt.Times)
	}
	if got := strings.Join(stmt.Watermark, " "); got != "id changed_at" {
		t.Errorf("watermark: %s", got)
	}
	for name, want := range map[string]bool{"now": true, "until": true, "scope": true, "wm_x": true, "wm_": false, "mine": false} {
		if probe.Builtin(name) != want {
			t.Errorf("Builtin(%q) = %v", name, !want)
		}
	}
}

func TestNullExtended(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]bool{
		"SELECT a FROM t JOIN u USING (id)":                  false,
		"SELECT a FROM t left JOIN u USING (id)":             true,
		"SELECT a FROM t UNION SELECT NULL":                  true,
		"SELECT a FROM t GROUP BY ROLLUP (a)":                true,
		`SELECT "left" FROM t -- FULL JOIN`:                  false,
		"SELECT a FROM t WHERE x = 'UNION'":                  false,
		"SELECT a FROM (SELECT a FROM t FULL JOIN u ON 1=1)": true,
	} {
		if got := parse(t, sql).NullExtended; got != want {
			t.Errorf("%s: %v", sql, got)
		}
	}
}

// TestRenderKeepsTheRest builds SQL of stretches without parameters and of parameters, in any order: the
// stretches come out byte for byte.
func TestRenderKeepsTheRest(t *testing.T) {
	t.Parallel()
	stretches := []string{
		"x", " ", "\n", "1.5", "'a:b'", "'it''s :x'", `":y"`, "`:z`", "[a b]", "-- :c\n", "/* :d /* ' */ */", "$$:e$$", "$t$:f$$ $t$",
		"::int", "a:b", "arr[1:2]", `E'\':g'`, "é", "数量", "(", ")", "+", "::", "\t", "\x80",
	}
	names := []string{":a", ":b_1", ":now", ":wm_id"}
	rapid.Check(t, func(t *rapid.T) {
		sql, want := "SELECT ", "SELECT "
		var params []string
		for range rapid.IntRange(0, 20).Draw(t, "parts") {
			if rapid.Bool().Draw(t, "param") {
				name := rapid.SampledFrom(names).Draw(t, "name")
				sql, want, params = sql+" "+name+" ", want+" ? ", append(params, name[1:])
				continue
			}
			s := rapid.SampledFrom(stretches).Draw(t, "stretch")
			sql, want = sql+s+" ", want+s+" "
		}
		got, order := parse(t, sql).Render(probe.Question)
		if got != want || !slices.Equal(order, params) {
			t.Fatalf("%q\n got  %q %v\n want %q %v", sql, got, order, want, params)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"SELECT :a, ':b' FROM t -- x", "WITH a AS (DELETE FROM t) SELECT 1; COMMIT", `SELECT E'\'', $$x$$, "a""b", [c d], \:e`,
		"SELECT '", "/*", "$a$", "\x80:a", "SELECT a[:b::int]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		tokens, _ := probe.Lex(sql)
		end := 0
		for _, token := range tokens {
			if token.Start < end || token.Text == "" || sql[token.Start:token.End()] != token.Text {
				t.Fatalf("token %+v after byte %d", token, end)
			}
			end = token.End()
		}
		stmt, faults := probe.Parse(sql)
		if (stmt == nil) != (len(faults) > 0) {
			t.Fatalf("statement %v with faults %v", stmt, faults)
		}
		for _, fault := range faults {
			if fault.Offset < 0 || fault.Offset > len([]rune(sql)) || fault.Code == "" || fault.Message == "" {
				t.Fatalf("fault %+v", fault)
			}
		}
		if stmt == nil {
			return
		}
		rendered, order := stmt.Render(probe.Question)
		shorter := len(order) + strings.Count(sql, `\:`)
		for _, name := range order {
			shorter += len(name) - 1
		}
		if len(rendered) > len(sql) || len(rendered) < len(sql)-shorter {
			t.Fatalf("%q became %q", sql, rendered)
		}
	})
}

func TestPlace(t *testing.T) {
	const sql = `SELECT 'ä' AS a, b\:\:text FROM t WHERE a > :now AND b = :b AND zz = :b`
	stmt, faults := probe.Parse(sql)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for _, style := range []probe.Style{probe.Dollar, probe.Question} {
		sent, _ := stmt.Render(style)
		for _, word := range []string{"SELECT", "AS", "b", ":text", "WHERE", "AND b", "zz"} {
			if got, want := stmt.Place(style, indexOf(sent, word)), indexOf(sql, word); got != want {
				t.Errorf("%q: %d in %q becomes %d, want %d", word, indexOf(sent, word), sent, got, want)
			}
		}
	}
	sent, _ := stmt.Render(probe.Dollar)
	if got := stmt.Place(probe.Dollar, indexOf(sent, "timestamptz")); got != indexOf(sql, ":now") {
		t.Errorf("inside the parameter: %d", got)
	}
	for _, at := range []int{0, -1, len(sent) + 10} {
		if got := stmt.Place(probe.Dollar, at); got != 0 {
			t.Errorf("%d is placed at %d", at, got)
		}
	}
}

// indexOf counts in characters from 1.
func indexOf(s, word string) int {
	for i := range []rune(s) {
		if rest := string([]rune(s)[i:]); len(rest) >= len(word) && rest[:len(word)] == word {
			return i + 1
		}
	}
	return 0
}

// Whatever the statement, a place leads into its text.
func TestPlaceStaysInTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"a", " :p", " :now", ` \:`, " 'ü'", " -- :x\n", ", b"})).Draw(t, "parts")
		sql := "SELECT 1"
		for _, p := range parts {
			sql += p
		}
		stmt, faults := probe.Parse(sql)
		if len(faults) > 0 {
			return
		}
		sent, _ := stmt.Render(probe.Dollar)
		last := 0
		for at := range []rune(sent) {
			place := stmt.Place(probe.Dollar, at+1)
			if place < max(last, 1) || place > len([]rune(sql)) {
				t.Fatalf("%d of %q becomes %d of %q", at+1, sent, place, sql)
			}
			last = place
		}
	})
}
