package origin

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/rules/scopelist"
	"tallyman/scanners/sqlite"
)

// scoped is a rule whose scopes come from a query, with parameters of every type.
func scoped(t *testing.T, sql string) *rules.Rule {
	t.Helper()
	set := rules.LoadFile("rule.yaml", []byte(`version: 1
rules:
  - id: low-stock
    schedule: {cron: "0 6 * * *"}
    scopes: {source: wms, sql: `+fmt.Sprintf("%q", sql)+`}
    source: wms
    probe:
      sql: SELECT bin, qty FROM stock WHERE wh = :scope AND qty < :minQty AND share < :share AND zone = :zone AND live = :live AND any = :any
      params: {minQty: 10, share: 0.5, zone: A, live: true, any: null}
    key: [bin]
    notice: {type: REP_NOTICE, title: Low}
    deliver: [{sink: inbox}]
`))
	if err := set.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	return set.Rules[0]
}

// scopeKeeper keeps the scopes of a rule.
func (w *warehouse) scopeKeeper(r *rules.Rule) *Keeper {
	w.t.Helper()
	source, err := sqlite.Open(sqlite.Config{URL: "sqlite:" + w.wms})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = source.Close() })
	stmt, _ := r.Scopes.Statement()
	return New(Options{
		Ledger: w.ledger, Source: source, Within: time.Minute, Logger: slog.New(slog.DiscardHandler),
		Kind:     &Scopes{Ledger: w.ledger, Rule: r, Author: ledger.Author{By: "node:a", Via: ledger.ViaSource}},
		Question: Question{Statement: stmt, Hash: r.Question(), Every: time.Minute},
	})
}

// lists has the keeper look, and returns how the origin stands, with the list in force.
func (w *warehouse) lists(k *Keeper) (ledger.ScopeOrigin, scopelist.List) {
	w.t.Helper()
	if err := k.look(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	origins, err := w.ledger.ScopeOrigins(w.t.Context())
	if err != nil || len(origins) != 1 {
		w.t.Fatalf("%v, %v", origins, err)
	}
	lists, err := w.ledger.ScopeLists(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return origins[0], lists["low-stock"]
}

const warehousesTable = "CREATE TABLE warehouses (id TEXT, tz TEXT, min_qty INTEGER, share REAL, zone TEXT, live INTEGER, any_of TEXT); "

const warehousesQuery = "SELECT id AS name, tz AS timezone, min_qty AS minqty, share, zone, live, any_of AS any FROM warehouses"

// TestScopesFollowTheTable: each row is a scope with its time zone and parameters; NULL is what the rule says.
func TestScopesFollowTheTable(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	w.exec(warehousesTable + "INSERT INTO warehouses VALUES (20, 'Asia/Shanghai', 5, 1, 'B', 0, 'x'), (3, NULL, NULL, NULL, NULL, NULL, NULL), ('W1', '', 7, 0.25, NULL, NULL, 'y')")
	k := w.scopeKeeper(scoped(t, warehousesQuery))
	o, list := w.lists(k)
	want := scopelist.List{
		{Name: "20", Timezone: "Asia/Shanghai", Params: map[string]any{"minQty": int64(5), "share": 1.0, "zone": "B", "live": false, "any": "x"}},
		{Name: "3"},
		{Name: "W1", Params: map[string]any{"minQty": int64(7), "share": 0.25, "any": "y"}},
	}
	if !reflect.DeepEqual(list, want) || o.Scopes != 3 || o.Error != "" {
		t.Errorf("%+v, %+v", list, o)
	}
	w.exec("DROP TABLE warehouses")
	w.micros.Add(time.Minute.Microseconds())
	if o, list := w.lists(k); !strings.Contains(o.Error, "no such table") || len(list) != 3 {
		t.Errorf("%+v, %+v", o, list)
	}
}

// TestFirstEmptyListWaits: a rule without scopes runs nowhere.
func TestFirstEmptyListWaits(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	w.exec(warehousesTable)
	if o, list := w.lists(w.scopeKeeper(scoped(t, warehousesQuery))); o.Waits == nil || o.Listed || list != nil {
		t.Errorf("%+v, %v", o, list)
	}
}

// TestAnotherQueryIsAskedAtOnce, however long ago the last one was.
func TestAnotherQueryIsAskedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	w.exec(warehousesTable + "INSERT INTO warehouses (id) VALUES (1), (2), (3)")
	_, list := w.lists(w.scopeKeeper(scoped(t, warehousesQuery)))
	_, same := w.lists(w.scopeKeeper(scoped(t, warehousesQuery)))
	_, fewer := w.lists(w.scopeKeeper(scoped(t, warehousesQuery+" WHERE id < 3")))
	if len(list) != 3 || len(same) != 3 || len(fewer) != 2 {
		t.Errorf("%v, %v, %v", list, same, fewer)
	}
}

// TestScopesThatCannotBeTaken: each fault names the row and the column.
func TestScopesThatCannotBeTaken(t *testing.T) {
	t.Parallel()
	path := "sqlite:" + filepath.Join(t.TempDir(), "wms.db")
	source, err := sqlite.Open(sqlite.Config{URL: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	w := &warehouse{t: t, wms: strings.TrimPrefix(path, "sqlite:")}
	w.exec("CREATE TABLE t (id)")
	for sql, says := range map[string]string{
		"SELECT 'a b' AS name":                                   `1 of 1 rows are not valid scopes: row 1: name: "a b" cannot name a scope`,
		"SELECT CAST(NULL AS TEXT) AS name":                      "row 1: name is NULL",
		"SELECT 1 AS name UNION ALL SELECT 2 UNION ALL SELECT 1": "1 of 3 rows are not valid scopes: row 3: name: 1 is in row 1, too",
		"SELECT 1 AS name, 'Mars/Base' AS timezone":              `row 1: timezone: `,
		"SELECT 1 AS name, 'x' AS minqty":                        `row 1: minQty: "x" is a value of kind text, and the rule has a whole number`,
		"SELECT 1 AS name, 1.5 AS minqty":                        `row 1: minQty: "1.5" is a value of kind float, and the rule has a whole number`,
		"SELECT 1 AS name, 'x' AS share":                         `row 1: share: "x" is a value of kind text, and the rule has a number`,
		"SELECT 1 AS name, 7 AS zone":                            "row 1: zone: is a value of kind int, and the rule has a text",
		"SELECT 1 AS name, 2 AS live":                            `row 1: live: "2" is a value of kind int, and the rule has true or false`,
		"SELECT 1 AS name, CAST(x'00' AS BLOB) AS \"any\"":       "row 1: any: is a value of kind bytes; CAST it",
		"SELECT 1 AS name, 5 AS threshold":                       "the query returns the column threshold, which is not a parameter of the rule; columns that it may return: name, timezone, ",
		"SELECT 1 AS name, 5 AS minqtty":                         `did you mean "minQty"?`,
		"SELECT 5 AS minqty":                                     "the query returns no column name",
		"SELECT 1 AS name, 2 AS NAME":                            `two columns are called "name" and "NAME"`,
		"SELECT 1 AS name, 5 AS minqty, 6 AS minQty":             `two columns are called "minqty" and "minQty"`,
		"SELECT printf('%.*c', 1001, 'x') AS zone, 1 AS name":    "row 1: zone: the text has more than 1000 characters",
		"SELECT id AS name FROM nowhere":                         "no such table",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100001) SELECT CAST(i AS TEXT) AS name FROM n": "list_too_long: the query returns more than 100000 rows",
	} {
		if list, err := AskScopes(t.Context(), source, scoped(t, sql)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %d scopes, %v", sql, len(list), err)
		}
	}
}

// TestParamOf has the kinds that SQLite does not have.
func TestParamOf(t *testing.T) {
	t.Parallel()
	decimal := func(text string) row.Value {
		v, err := row.ParseDecimal(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		own  any
		v    row.Value
		want any // nil = it does not fit
	}{
		{int64(1), decimal("5.00"), int64(5)},
		{int64(1), decimal("5.50"), nil},
		{int64(1), decimal("99999999999999999999"), nil},
		{1.5, decimal("2.50"), 2.5},
		{1.5, row.IntOf(2), 2.0},
		{true, row.BoolOf(false), false},
		{true, decimal("1"), true},
		{true, row.TextOf("true"), nil},
		{nil, row.BoolOf(true), true},
		{nil, decimal("2.5"), 2.5},
		{nil, row.TimeOf(time.Now()), nil},
		{"x", row.DateOf(time.Now()), nil},
		{"x", row.TextOf(""), ""},
	} {
		got, fault := paramOf(c.own, c.v)
		if got != c.want || (fault == "") != (c.want != nil) {
			t.Errorf("%v of %v: %v, %s", c.own, c.v, got, fault)
		}
	}
}
