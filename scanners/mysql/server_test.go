package mysql

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners/sqldb"
)

// The tests of this file are for MySQL, where it differs from MariaDB. All other tests run on MariaDB.

func TestSettings(t *testing.T) {
	t.Parallel()
	d := &dialect{location: time.UTC}
	for _, c := range []struct {
		maria   bool
		timeout time.Duration
		want    string
	}{
		{true, 1500 * time.Millisecond, "max_statement_time = 1.500, lock_wait_timeout = 2"},
		{true, time.Microsecond, "max_statement_time = 0.001, lock_wait_timeout = 1"}, // 0 would be for ever
		{false, 1500 * time.Millisecond, "max_execution_time = 1500, lock_wait_timeout = 2"},
		{false, time.Microsecond, "max_execution_time = 1, lock_wait_timeout = 1"},
	} {
		tx := &transaction{dialect: d, maria: c.maria}
		if got := tx.settings(c.timeout); !strings.HasSuffix(got, "time_zone = '+00:00', "+c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestQueryCost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		`{"query_block": {"select_id": 1, "cost_info": {"query_cost": "12.75"}, "table": {"table_name": "t", "cost_info": {"read_cost": "1.00"},
			"materialized_from_subquery": {"query_block": {"cost_info": {"query_cost": "9.00"}}}}}}`: 12.75,
		`{"query_block": {"union_result": {"query_specifications": [{"query_block": {"cost_info": {"query_cost": "1.50"}}},
			{"query_block": {"cost_info": {"query_cost": "2.25"}}}]}}}`: 3.75,
		`{"query_block": {"select_id": 1, "message": "No tables used"}}`: 0,
	} {
		var document any
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			t.Fatal(err)
		}
		if got := queryCost(document); got != want {
			t.Errorf("%s costs %g, want %g", text, got, want)
		}
	}
}

// TestInitial writes the defaults as the catalogues of the two servers show them.
func TestInitial(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		maria  bool
		column tableColumn
		want   string
	}{
		{true, tableColumn{initial: "'it''s'", required: "1", hasInitial: true}, " DEFAULT 'it''s'"},
		{true, tableColumn{initial: "current_timestamp()", hasInitial: true}, " DEFAULT current_timestamp()"},
		{true, tableColumn{initial: "NULL", hasInitial: true}, " DEFAULT NULL"},
		{true, tableColumn{required: "1"}, ""},
		{false, tableColumn{initial: `it's \ so`, required: "1", hasInitial: true}, ` DEFAULT 'it''s \\ so'`},
		{false, tableColumn{initial: "0.000", required: "1", hasInitial: true}, " DEFAULT '0.000'"},
		{false, tableColumn{initial: "CURRENT_TIMESTAMP", extra: "default_generated on update current_timestamp", hasInitial: true}, " DEFAULT (CURRENT_TIMESTAMP)"},
		{false, tableColumn{initial: `concat(_utf8mb4\'a\',_utf8mb4\'b\')`, extra: "default_generated", hasInitial: true}, " DEFAULT (concat(_utf8mb4'a',_utf8mb4'b'))"},
		{false, tableColumn{required: "1"}, ""},
		{false, tableColumn{}, ""},
		{false, tableColumn{hasInitial: true}, " DEFAULT ''"},
		{false, tableColumn{hasInitial: true, required: "1"}, " DEFAULT ''"},
		{true, tableColumn{initial: "''", hasInitial: true}, " DEFAULT ''"},
	} {
		tx := &transaction{maria: c.maria}
		if got := tx.initial(c.column); got != c.want {
			t.Errorf("%+v (MariaDB %v): %q, want %q", c.column, c.maria, got, c.want)
		}
	}
	if got := (&transaction{}).expression(`concat(_utf8mb4\'a\',` + "`b`)"); got != "concat(_utf8mb4'a',`b`)" {
		t.Error(got)
	}
}

// TestServerTypes reads types that MariaDB does not send.
func TestServerTypes(t *testing.T) {
	t.Parallel()
	d := &dialect{location: time.UTC}
	for _, c := range []struct {
		field field
		src   any
		kind  row.Kind
		want  string
	}{
		{field{kind: typeJSON, charset: 45}, []byte(`{"a": 1}`), row.JSON, `{"a": 1}`},
		{field{kind: typeVector, charset: binaryCharset}, []byte{1, 2}, row.Bytes, "0102"},
		{field{kind: typeGeometry, charset: binaryCharset}, []byte{3}, row.Bytes, "03"},
		{field{kind: typeVarChar, charset: 255, length: 40}, []byte("x"), row.Text, "x"},
		{field{kind: typeNewDate, charset: binaryCharset}, []byte("2026-06-01"), row.Date, "2026-06-01"},
		{field{kind: typeString, charset: 255, length: 40}, []byte("A-01      "), row.Text, "A-01"}, // PAD_CHAR_TO_FULL_LENGTH
		{field{kind: typeTiny, length: 1}, int64(1), row.Bool, "true"},
	} {
		kind := c.field.rowKind()
		var got row.Value
		if err := d.converter(c.field, kind)(&got, c.src, &sqldb.Texts{}); err != nil || kind != c.kind || got.Kind() != c.kind || got.String() != c.want {
			t.Errorf("%+v: %s %q, %v", c.field, kind, got, err)
		}
	}
}

func TestRowsRead(t *testing.T) {
	t.Parallel()
	line := func(id, kind, table, access, key, rows, filtered, extra string) map[string]string {
		return map[string]string{"id": id, "select_type": kind, "table": table, "type": access, "key": key, "rows": rows, "filtered": filtered, "Extra": extra}
	}
	for _, c := range []struct {
		lines []map[string]string
		rows  float64
		shape string
	}{
		{[]map[string]string{line("1", "SIMPLE", "", "", "", "", "", "No tables used")}, 0, "SIMPLE\n  none"},
		{[]map[string]string{
			line("1", "SIMPLE", "a", "ALL", "", "100", "10.00", "Using where; Using temporary; Using filesort"),
			line("1", "SIMPLE", "b", "ref", "by_a", "5", "100.00", "Using index"),
		}, 150, "SIMPLE\n  ALL a (Using temporary) (Using filesort)\n  ref b by_a"},
		{[]map[string]string{
			line("1", "PRIMARY", "a", "ALL", "", "100", "50.00", ""),
			line("2", "DEPENDENT SUBQUERY", "b", "ref", "by_a", "3", "100.00", ""),
		}, 250, "PRIMARY\n  ALL a\nDEPENDENT SUBQUERY\n  ref b by_a"},
		{[]map[string]string{
			line("1", "PRIMARY", "a", "ALL", "", "10", "100.00", ""),
			line("2", "UNION", "b", "ALL", "", "20", "100.00", ""),
			line("", "UNION RESULT", "<union1,2>", "ALL", "", "", "", ""),
		}, 30, "PRIMARY\n  ALL a\nUNION\n  ALL b\nUNION RESULT\n  ALL <union1,2>"},
	} {
		steps := stepsOf(c.lines)
		if got := rowsRead(steps); got != c.rows || shape(steps) != c.shape {
			t.Errorf("%g rows, want %g\n%s", got, c.rows, shape(steps))
		}
	}
}

// FuzzTimes tests the readers of dates and durations: they either refuse a text, or read it as the server wrote it.
func FuzzTimes(f *testing.F) {
	for _, seed := range []string{"2026-06-01", "2026-06-01 08:00:00.25", "0000-00-00 00:00:00", "2026-00-01", "-838:59:59.000001", "08:30:00", ":", "2026-06-01 08:00:00.1234567890"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, there, err := parseTime([]byte(text), time.UTC)
		if err == nil && there && !strings.HasPrefix(text, at.Format(time.DateOnly)) {
			t.Errorf("%q was read as %s", text, at)
		}
		var v row.Value
		if convertDuration(&v, []byte(text), &sqldb.Texts{}) != nil {
			return
		}
		var again row.Value
		if err := convertDuration(&again, []byte(durationText(v.Duration().Truncate(time.Microsecond))), &sqldb.Texts{}); err != nil || again.Duration() != v.Duration().Truncate(time.Microsecond) {
			t.Errorf("%q was read as %s, and that as %s", text, v, again)
		}
	})
}
