package sqlserver

import (
	"database/sql/driver"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/scannertest"
	"tallyman/scanners/sqldb"
	"tallyman/scanners/sqldb/sqldbtest"
)

// described is the answer of sp_describe_first_result_set for columns of these types. A type that ends with ! is NOT
// NULL.
func described(columns ...string) sqldbtest.Answer {
	a := sqldbtest.Answer{Match: "sp_describe_first_result_set", Columns: []sqldbtest.Column{
		{Name: "is_hidden"}, {Name: "column_ordinal"}, {Name: "name"}, {Name: "is_nullable"}, {Name: "system_type_id"}, {Name: "system_type_name"}, {Name: "collation_name"},
	}}
	for i, c := range columns {
		name, kind, _ := strings.Cut(c, " ")
		kind, required := strings.CutSuffix(kind, "!")
		a.Rows = append(a.Rows, []driver.Value{false, int64(i + 1), name, !required, int64(1), kind, nil})
	}
	a.Rows = append(a.Rows, []driver.Value{true, int64(99), "hidden", true, int64(56), "int", nil})
	return a
}

func snapshot(state int64) sqldbtest.Answer {
	return sqldbtest.Answer{Match: "snapshot_isolation_state", Columns: []sqldbtest.Column{{Name: "n"}}, Rows: [][]driver.Value{{state}}}
}

func source(t *testing.T, zone string, fake *sqldbtest.Fake) *sqldb.Source {
	t.Helper()
	address, err := sqldb.ParseURL("sqlserver://sa:se%23cret@db/wms", "sqlserver", "1433")
	if err != nil {
		t.Fatal(err)
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	s := open(Config{Location: location, StatementTimeout: 3 * time.Second, MaxConnections: 2}, &address, fake.Connector(), nil)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestTransaction tests everything that a scan sends: each transaction is rolled back, on a connection that is closed.
func TestTransaction(t *testing.T) {
	t.Parallel()
	for state, isolation := range map[int64]string{1: "SNAPSHOT", 0: "READ COMMITTED", 3: "READ COMMITTED"} {
		fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{
			snapshot(state), described("id int!"),
			{Match: "FROM bins", Columns: []sqldbtest.Column{{Name: "id"}}, Rows: [][]driver.Value{{int64(7)}}},
		}}
		s := source(t, "UTC", fake)
		p := scannertest.Prepare(t, s, "SELECT id FROM bins WHERE id = :x OR at <= :now OR id = :x")
		log := fake.Log()
		if len(log) != 5 || !strings.Contains(log[1], "SET LOCK_TIMEOUT 3000; SET TEXTSIZE 2097154; SET TRANSACTION ISOLATION LEVEL "+isolation+"; BEGIN TRANSACTION") ||
			!strings.Contains(log[2], "@p1 nvarchar(4000), @p2 datetime2, @p3 nvarchar(4000)") || log[3] != "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION" || log[4] != "close" {
			t.Errorf("prepare: %q", log)
		}
		args := map[string]any{"x": 7, "now": time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)}
		rows := scannertest.Rows(t, p, args)
		if len(rows) != 1 || rows[0].Values[0].Int() != 7 {
			t.Errorf("%d rows", len(rows))
		}
		log = fake.Log()
		want := "SELECT id FROM bins WHERE id = @p1 OR at <= CAST(@p2 AS datetime2) OR id = @p3 int64=7 civil.DateTime=2026-06-01T08:00:00 int64=7"
		if len(log) != 5 || log[2] != want || log[3] != "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION" || log[4] != "close" {
			t.Errorf("scan: %q", log)
		}
	}
}

// TestForeignStatements are refused before the server gets them.
func TestForeignStatements(t *testing.T) {
	t.Parallel()
	fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{snapshot(0)}}
	s := source(t, "UTC", fake)
	_, err := s.Prepare(t.Context(), scannertest.Parse(t, "SELECT 1 AS a\nDELETE FROM bins"))
	wantCode(t, err, scanners.CodeStatement, "DELETE begins a statement in SQL Server (line 2 of the probe)")
	if slices.ContainsFunc(fake.Log(), func(line string) bool { return strings.Contains(line, "DELETE") }) {
		t.Error("the server was asked")
	}
}

// TestTypes reads a value of each type, as the driver returns it.
func TestTypes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 6, 1, 8, 0, 0, 25e7, time.UTC)
	for _, c := range []struct {
		declared string
		kind     row.Kind
		value    driver.Value
		want     string
	}{
		{"bit", row.Bool, true, "true"},
		{"tinyint", row.Int, int64(255), "255"},
		{"smallint", row.Int, int64(-3), "-3"},
		{"int", row.Int, int64(7), "7"},
		{"bigint", row.Int, int64(9007199254740993), "9007199254740993"},
		{"real", row.Float, float32(0.25), "0.25"},
		{"float", row.Float, 0.25, "0.25"},
		{"decimal(12,3)", row.Decimal, []byte("-12.500"), "-12.500"},
		{"numeric(38,20)", row.Decimal, []byte("123456789012345678.12345678901234567890"), "123456789012345678.12345678901234567890"},
		{"money", row.Decimal, []byte("922337203685477.5807"), "922337203685477.5807"},
		{"smallmoney", row.Decimal, []byte("-0.0100"), "-0.0100"},
		{"char(10)", row.Text, "A-01      ", "A-01"},
		{"nchar(10)", row.Text, "货位   ", "货位"},
		{"varchar(10)", row.Text, "A-01  ", "A-01  "},
		{"nvarchar(max)", row.Text, "Zoë", "Zoë"},
		{"xml", row.Text, "<a/>", "<a/>"},
		{"varbinary(8)", row.Bytes, []byte{0, 255}, "00ff"},
		{"timestamp", row.Bytes, []byte{0, 0, 7}, "000007"},
		{"date", row.Date, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), "2026-06-01"},
		{"datetime", row.Time, at, "2026-06-01T00:00:00.25Z"},
		{"datetime2(7)", row.Time, at, "2026-06-01T00:00:00.25Z"},
		{"smalldatetime", row.Time, at, "2026-06-01T00:00:00.25Z"},
		{"datetimeoffset(7)", row.Time, at.In(time.FixedZone("", 3600)), "2026-06-01T08:00:00.25Z"},
		{"time(7)", row.Text, time.Date(1, 1, 1, 23, 59, 59, 5e8, time.UTC), "23:59:59.5"},
		{"uniqueidentifier", row.Text, []byte{0x67, 0x45, 0x23, 0x01, 0xAB, 0x89, 0xEF, 0xCD, 1, 2, 3, 4, 5, 6, 7, 8}, "01234567-89AB-CDEF-0102-030405060708"},
		{"json", row.JSON, `{"a": [1]}`, `{"a": [1]}`},
	} {
		fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{
			snapshot(1), described("V "+c.declared, "w "+c.declared+"!"),
			{Match: "FROM x", Columns: []sqldbtest.Column{{Name: "V"}, {Name: "w"}}, Rows: [][]driver.Value{{c.value, c.value}, {nil, c.value}}},
		}}
		p := scannertest.Prepare(t, source(t, "Asia/Shanghai", fake), "SELECT v, w FROM x")
		if got := p.Columns(); len(got) != 2 || got[0] != (row.Column{Name: "v", Kind: c.kind, DBType: c.declared, Nullable: true}) || got[1].Nullable {
			t.Errorf("%s: %+v", c.declared, got)
		}
		rows := scannertest.Rows(t, p, nil)
		if v := rows[0].Values[0]; v.Kind() != c.kind || v.String() != c.want || !rows[1].Values[0].IsNull() {
			t.Errorf("%s: %s %q, want %q", c.declared, v.Kind(), v, c.want)
		}
	}
	for _, declared := range []string{"sql_variant", "geography", "hierarchyid"} {
		fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{snapshot(1), described("v " + declared)}}
		_, err := source(t, "UTC", fake).Prepare(t.Context(), scannertest.Parse(t, "SELECT v FROM x"))
		wantCode(t, err, scanners.CodeColumn, "column v: conditions cannot use the type "+declared+" (CAST the column")
	}
	fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{snapshot(1), described("v geography", "n int", "w sql_variant")}}
	_, err := source(t, "UTC", fake).Prepare(t.Context(), scannertest.Parse(t, "SELECT v, n, w FROM x"))
	wantCode(t, err, scanners.CodeColumn, "column v: conditions cannot use the type geography; column w: conditions cannot use the type sql_variant (CAST the column")
}

// TestChangedTypes has values of other types than the described ones.
func TestChangedTypes(t *testing.T) {
	t.Parallel()
	for _, declared := range []string{
		"bit", "int", "float", "decimal(5,2)", "char(3)", "varchar(3)", "varbinary(3)", "date", "datetime2", "datetimeoffset", "time", "uniqueidentifier", "json",
	} {
		fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{
			snapshot(1), described("v " + declared), {Match: "FROM x", Columns: []sqldbtest.Column{{Name: "v"}}, Rows: [][]driver.Value{{complex(1, 2)}}},
		}}
		p := scannertest.Prepare(t, source(t, "UTC", fake), "SELECT v FROM x")
		_, err := p.Scan(t.Context(), scanners.Request{}, func(*row.Row) error { return nil })
		wantCode(t, err, scanners.CodeChanged, "column v: described as")
	}
}

// TestBinding sends each kind in the form that the server compares best.
func TestBinding(t *testing.T) {
	t.Parallel()
	decimal, err := row.ParseDecimal("-12.50")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 6, 1, 20, 0, 0, 25e7, time.UTC)
	fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{
		snapshot(1), described("n int"), {Match: "FROM x", Columns: []sqldbtest.Column{{Name: "n"}}},
	}}
	s := source(t, "Asia/Shanghai", fake)
	p := scannertest.Prepare(t, s, "SELECT n FROM x WHERE n = :v")
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "<nil>=<nil>"},
		{true, "bool=true"},
		{7, "int64=7"},
		{0.25, "float64=0.25"},
		{decimal, "string=-12.50"},
		{"A-01", "string=A-01"},
		{row.BytesOf("\x00\xff"), "[]uint8=[0 255]"},
		{row.DateOf(at), "civil.Date=2026-06-01"},
		{at, "civil.DateTime=2026-06-02T04:00:00.250000000"},
		{row.JSONOf("{}"), "string={}"},
	} {
		fake.Log()
		scannertest.Rows(t, p, map[string]any{"v": c.value})
		if log := fake.Log(); len(log) < 3 || !strings.HasSuffix(log[2], c.want) {
			t.Errorf("%v: %q", c.value, log)
		}
	}
	_, err = p.Scan(t.Context(), scanners.Request{Args: map[string]any{"v": row.DurationOf(time.Hour)}}, func(*row.Row) error { return nil })
	wantCode(t, err, scanners.CodeParam, "duration")
}

func wantCode(t *testing.T, err error, code scanners.Code, says string) {
	t.Helper()
	var e *scanners.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(err.Error(), says) {
		t.Errorf("%v, want %s and %q", err, code, says)
	}
}

// TestErrors lists errors of the server, when they occur, and how they are judged.
func TestErrors(t *testing.T) {
	t.Parallel()
	visit := func(*row.Row) error { return nil }
	for _, c := range []struct {
		err               mssql.Error
		prepared, scanned scanners.Code
		transient         bool
	}{
		{mssql.Error{Number: 208, Class: 16, Message: "Invalid object name 'binz'.", LineNo: 3}, scanners.CodeStatement, scanners.CodeStatement, false},
		{mssql.Error{Number: 8134, Class: 16, Message: "Divide by zero."}, scanners.CodeStatement, scanners.CodeFailed, false},
		{mssql.Error{Number: 229, Class: 14, Message: "Denied."}, scanners.CodeStatement, scanners.CodeStatement, false},
		{mssql.Error{Number: 1222, Class: 16, Message: "Lock request time out."}, scanners.CodeTimeout, scanners.CodeTimeout, true},
		{mssql.Error{Number: 1205, Class: 13, Message: "Deadlock."}, scanners.CodeFailed, scanners.CodeFailed, true},
		{mssql.Error{Number: 3906, Class: 16, Message: "Read-only."}, scanners.CodeReadOnly, scanners.CodeReadOnly, false},
		{mssql.Error{Number: 18456, Class: 14, Message: "Login failed."}, scanners.CodeUnreachable, scanners.CodeUnreachable, true},
		{mssql.Error{Number: 9999, Class: 20, Message: "Gone."}, scanners.CodeUnreachable, scanners.CodeUnreachable, true},
	} {
		fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{snapshot(1), {Match: "sp_describe", Err: c.err}}}
		_, err := source(t, "UTC", fake).Prepare(t.Context(), scannertest.Parse(t, "SELECT 1 AS n"))
		wantCode(t, err, c.prepared, "[error ")
		if scanners.IsTransient(err) != c.transient {
			t.Errorf("%v: transient %v", err, !c.transient)
		}
		if log := fake.Log(); log[len(log)-1] != "close" || strings.Contains(strings.Join(log, "\n"), "ROLLBACK") {
			t.Errorf("after a failed statement the connection is closed, and nothing else: %q", log)
		}
		fake = &sqldbtest.Fake{Answers: []sqldbtest.Answer{snapshot(1), described("n int"), {Match: "SELECT 1", Columns: []sqldbtest.Column{{Name: "n"}}, Err: c.err}}}
		p := scannertest.Prepare(t, source(t, "UTC", fake), "SELECT 1 AS n")
		fake.Log()
		_, err = p.Scan(t.Context(), scanners.Request{}, visit)
		wantCode(t, err, c.scanned, "[error ")
		if log := fake.Log(); strings.Contains(strings.Join(log, "\n"), "ROLLBACK") {
			t.Errorf("after a failed scan: %q", log)
		}
	}
}

// TestTimeout gives up on a server that does not answer, before and after the first row.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, columns := range [][]sqldbtest.Column{nil, {{Name: "n"}}} {
		fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{snapshot(1), described("n int"), {Match: "SELECT 1", Columns: columns, Rows: [][]driver.Value{{int64(1)}}, Block: true}}}
		p := scannertest.Prepare(t, source(t, "UTC", fake), "SELECT 1 AS n")
		_, err := p.Scan(t.Context(), scanners.Request{Timeout: 20 * time.Millisecond}, func(*row.Row) error { return nil })
		wantCode(t, err, scanners.CodeTimeout, "in time")
		if columns == nil {
			continue
		}
		enough := errors.New("enough")
		got, err := p.Scan(t.Context(), scanners.Request{Timeout: time.Minute}, func(*row.Row) error { return enough })
		if err != enough || got.Rows != 1 { //nolint:errorlint // unwrapped, as the contract says
			t.Errorf("stopped: %+v, %v", got, err)
		}
	}
}

// TestTextSizeFits: the server takes at most 2147483647, which is also the longest value that it has.
func TestTextSizeFits(t *testing.T) {
	t.Parallel()
	for cell, want := range map[int]int{1 << 20: 2<<20 + 2, 1<<30 - 2: 1<<31 - 2, 1<<30 - 1: math.MaxInt32, 1 << 30: math.MaxInt32, 1 << 40: math.MaxInt32, math.MaxInt: math.MaxInt32} {
		if got := (&dialect{limits: scanners.Limits{Cell: cell}}).textSize(); got != want {
			t.Errorf("for %d bytes: %d, want %d", cell, got, want)
		}
	}
}

// TestLargeValues has values that the server has cut at SET TEXTSIZE. Each of them must still be above the limit.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	d := dialect{limits: scanners.Limits{}.WithDefaults()}
	cut := d.textSize()
	for what, c := range map[string]struct {
		kind  string
		value driver.Value
		says  string
	}{
		"at the limit":         {"varchar(max)", strings.Repeat("x", scanners.DefaultMaxCell), ""},
		"bytes, cut":           {"varbinary(max)", make([]byte, cut), "column v holds 2097154 bytes, more than the 1048576"},
		"UTF-16, cut":          {"nvarchar(max)", strings.Repeat("x", cut/2), "column v holds 1048577 bytes"},
		"UTF-16 of two, cut":   {"nvarchar(max)", strings.Repeat("é", cut/2), "column v holds 2097154 bytes"},
		"UTF-16 of four, cut":  {"nvarchar(max)", strings.Repeat("😀", cut/4), "column v holds 2097152 bytes"},
		"a code page, cut":     {"varchar(max)", strings.Repeat("货", cut/2), "column v holds 3145731 bytes"},
		"what cannot be cut":   {"xml", strings.Repeat("x", 5_000_000), "column v holds 5000000 bytes"},
		"a type with its size": {"varchar(8000)", strings.Repeat("x", 8000), ""},
	} {
		fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{
			snapshot(1), described("id int!", "v "+c.kind),
			{Match: "FROM x", Columns: []sqldbtest.Column{{Name: "id"}, {Name: "v"}}, Rows: [][]driver.Value{{int64(7), c.value}}},
		}}
		_, err := scannertest.Prepare(t, source(t, "UTC", fake), "SELECT id, v FROM x").Scan(t.Context(), scanners.Request{}, func(*row.Row) error { return nil })
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		wantCode(t, err, scanners.CodeTooLarge, c.says)
	}
}

// TestClock reads the server's time with the offset of its machine.
func TestClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 6, 1, 8, 0, 0, 0, time.FixedZone("", 8*3600))
	fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{snapshot(0), {Match: "SYS", Columns: []sqldbtest.Column{{Name: "v"}}, Rows: [][]driver.Value{{at}}}}}
	got, err := (&Source{Source: source(t, "UTC", fake)}).Clock(t.Context())
	if err != nil || !got.Equal(at) || got.Location().String() != "+08:00" {
		t.Errorf("%s in %q, %v", got, got.Location(), err)
	}
}
