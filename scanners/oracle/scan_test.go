package oracle

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sijms/go-ora/v2/network"

	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/scannertest"
	"tallyman/scanners/sqldb"
	"tallyman/scanners/sqldb/sqldbtest"
)

// described is the answer to a query for no rows, which describes the columns.
func described(columns ...sqldbtest.Column) sqldbtest.Answer {
	return sqldbtest.Answer{Match: "WHERE 1 = 0", Columns: columns}
}

func number(name string) sqldbtest.Column {
	return sqldbtest.Column{Name: name, Type: "NUMBER", Precision: 10, Nullable: true}
}

func source(t *testing.T, zone string, fake *sqldbtest.Fake) *sqldb.Source {
	t.Helper()
	address, err := sqldb.ParseURL("oracle://wms:se%23cret@db/FREEPDB1", "oracle", "1521")
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

func ignore(*row.Row) error { return nil }

// TestTransaction tests everything that a scan sends: a read-only transaction that is rolled back, on a connection that
// is closed.
func TestTransaction(t *testing.T) {
	t.Parallel()
	fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{
		described(number("ID")), {Match: "FROM bins", Columns: []sqldbtest.Column{number("ID")}, Rows: [][]driver.Value{{"7"}}},
	}}
	s := source(t, "Asia/Shanghai", fake)
	p := scannertest.Prepare(t, s, "SELECT id FROM bins WHERE id = :x OR at <= :now OR id = :x")
	log := fake.Log()
	want := []string{
		"begin", "ALTER SESSION SET TIME_ZONE = 'Asia/Shanghai' NLS_NUMERIC_CHARACTERS = '.,'", "SET TRANSACTION READ ONLY",
		"SELECT * FROM ( SELECT id FROM bins WHERE id = :1 OR at <= CAST(:2 AS TIMESTAMP) OR id = :3 ) WHERE 1 = 0 <nil>=<nil> <nil>=<nil> <nil>=<nil>",
		"ROLLBACK", "close",
	}
	same(t, log, want)
	at := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	if rows := scannertest.Rows(t, p, map[string]any{"x": 7, "now": at}); len(rows) != 1 || rows[0].Values[0].Int() != 7 {
		t.Errorf("%d rows", len(rows))
	}
	want[3] = "SELECT id FROM bins WHERE id = :1 OR at <= CAST(:2 AS TIMESTAMP) OR id = :3 int64=7 go_ora.TimeStamp="
	same(t, fake.Log(), want)
}

func same(t *testing.T, log, want []string) {
	t.Helper()
	if len(log) != len(want) {
		t.Fatalf("%q", log)
	}
	for i := range want {
		if !strings.HasPrefix(log[i], want[i]) {
			t.Errorf("%q, want %q", log[i], want[i])
		}
	}
}

// TestForeignStatements are refused before the server gets them.
func TestForeignStatements(t *testing.T) {
	t.Parallel()
	fake := &sqldbtest.Fake{}
	_, err := source(t, "UTC", fake).Prepare(t.Context(), scannertest.Parse(t, "SELECT id\nFROM bins@other"))
	wantCode(t, err, scanners.CodeStatement, "another server, past the read-only transaction (line 2 of the probe)")
	if strings.Contains(strings.Join(fake.Log(), "\n"), "bins") {
		t.Error("the server was asked")
	}
}

// TestTypes reads a value of each type, as the driver names and returns it.
func TestTypes(t *testing.T) {
	t.Parallel()
	server := time.FixedZone("server", 7200)
	for _, c := range []struct {
		column sqldbtest.Column
		dbType string
		kind   row.Kind
		value  driver.Value
		want   string
	}{
		{sqldbtest.Column{Type: "NUMBER", Precision: 18}, "NUMBER(18)", row.Int, "-900719925474099312", "-900719925474099312"},
		{sqldbtest.Column{Type: "NUMBER", Precision: 19}, "NUMBER(19,0)", row.Decimal, "9223372036854775808", "9223372036854775808"},
		{sqldbtest.Column{Type: "NUMBER", Precision: 12, Scale: 3}, "NUMBER(12,3)", row.Decimal, "-12.5", "-12.5"},
		{sqldbtest.Column{Type: "NUMBER", Precision: 38, Scale: 255}, "NUMBER", row.Decimal, "0.1", "0.1"},
		{sqldbtest.Column{Type: "IBFloat"}, "BINARY_FLOAT", row.Float, float32(0.25), "0.25"},
		{sqldbtest.Column{Type: "IBDouble"}, "BINARY_DOUBLE", row.Float, 0.25, "0.25"},
		{sqldbtest.Column{Type: "NCHAR"}, "VARCHAR2", row.Text, "货位 ", "货位 "},
		{sqldbtest.Column{Type: "CHAR"}, "CHAR", row.Text, "A-01   ", "A-01"},
		{sqldbtest.Column{Type: "OCIClobLocator"}, "CLOB", row.Text, "long", "long"},
		{sqldbtest.Column{Type: "ROWID"}, "ROWID", row.Text, "AAAR3s", "AAAR3s"},
		{sqldbtest.Column{Type: "RAW"}, "RAW", row.Bytes, []byte{0, 255}, "00ff"},
		{sqldbtest.Column{Type: "OCIBlobLocator"}, "BLOB", row.Bytes, []byte{7}, "07"},
		{sqldbtest.Column{Type: "DATE"}, "DATE", row.Time, time.Date(2026, 6, 1, 8, 0, 0, 0, server), "2026-06-01T00:00:00Z"},
		{sqldbtest.Column{Type: "TimeStampDTY"}, "TIMESTAMP", row.Time, time.Date(2026, 6, 1, 8, 0, 0, 25e7, time.UTC), "2026-06-01T00:00:00.25Z"},
		{sqldbtest.Column{Type: "TimeStampTZ_DTY"}, "TIMESTAMP WITH TIME ZONE", row.Time, time.Date(2026, 6, 1, 8, 0, 0, 0, server), "2026-06-01T06:00:00Z"},
		{sqldbtest.Column{Type: "TimeStampLTZ_DTY"}, "TIMESTAMP WITH LOCAL TIME ZONE", row.Time, time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC), "2026-06-01T08:00:00Z"},
		{sqldbtest.Column{Type: "IntervalDS_DTY"}, "INTERVAL DAY TO SECOND", row.Text, "+01 02:03:04.000000", "+01 02:03:04.000000"},
		{sqldbtest.Column{Type: booleanName}, "BOOLEAN", row.Bool, true, "true"},
	} {
		nullable, required := c.column, c.column
		nullable.Name, required.Name, nullable.Nullable = "V", "W", true
		fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{
			described(nullable, required),
			{Match: "FROM x", Columns: []sqldbtest.Column{nullable, required}, Rows: [][]driver.Value{{c.value, c.value}, {nil, c.value}}},
		}}
		p := scannertest.Prepare(t, source(t, "Asia/Shanghai", fake), "SELECT v, w FROM x")
		if got := p.Columns(); len(got) != 2 || got[0] != (row.Column{Name: "v", Kind: c.kind, DBType: c.dbType, Nullable: true}) || got[1].Nullable {
			t.Errorf("%s: %+v", c.dbType, got)
		}
		rows := scannertest.Rows(t, p, nil)
		if v := rows[0].Values[0]; v.Kind() != c.kind || v.String() != c.want || !rows[1].Values[0].IsNull() {
			t.Errorf("%s: %s %q, want %q", c.dbType, v.Kind(), v, c.want)
		}
		outer := scannertest.Prepare(t, source(t, "UTC", fake), "SELECT v, w FROM x LEFT JOIN y ON y.v = x.v")
		if !outer.Columns()[1].Nullable {
			t.Errorf("%s: an outer join makes NULLs", c.dbType)
		}
		fake.Answers[1].Rows = [][]driver.Value{{complex(1, 2), c.value}}
		_, err := p.Scan(t.Context(), scanners.Request{}, ignore)
		wantCode(t, err, scanners.CodeChanged, "column v: described as")
	}
	fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{described(sqldbtest.Column{Name: "V", Type: "XMLType"})}}
	_, err := source(t, "UTC", fake).Prepare(t.Context(), scannertest.Parse(t, "SELECT v FROM x"))
	wantCode(t, err, scanners.CodeColumn, "column v: conditions cannot use the type XMLType (CAST the column")
	fake = &sqldbtest.Fake{Answers: []sqldbtest.Answer{described(sqldbtest.Column{Name: "V", Type: "XMLType"}, sqldbtest.Column{Name: "W", Type: "VECTOR"})}}
	_, err = source(t, "UTC", fake).Prepare(t.Context(), scannertest.Parse(t, "SELECT v, w FROM x"))
	wantCode(t, err, scanners.CodeColumn, "column v: conditions cannot use the type XMLType; column w: conditions cannot use the type VECTOR (CAST the column")
}

// TestBinding sends each kind in the form that the server compares best, and a time as the local time of the source.
func TestBinding(t *testing.T) {
	t.Parallel()
	decimal, err := row.ParseDecimal("-12.50")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 6, 1, 20, 0, 0, 25e7, time.UTC)
	fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{described(number("N")), {Match: "FROM x", Columns: []sqldbtest.Column{number("N")}}}}
	p := scannertest.Prepare(t, source(t, "Asia/Shanghai", fake), "SELECT n FROM x WHERE n = :v")
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "<nil>=<nil>"},
		{true, "int64=1"},
		{false, "int64=0"},
		{7, "int64=7"},
		{0.25, "float64=0.25"},
		{decimal, "string=-12.50"},
		{"A-01", "string=A-01"},
		{row.BytesOf("\x00\xff"), "[]uint8=[0 255]"},
	} {
		fake.Log()
		scannertest.Rows(t, p, map[string]any{"v": c.value})
		if log := fake.Log(); len(log) < 4 || !strings.HasSuffix(log[3], c.want) {
			t.Errorf("%v: %q", c.value, log)
		}
	}
	d := &dialect{location: time.FixedZone("", 8*3600)}
	for value, want := range map[row.Value]string{
		row.TimeOf(at): "2026-06-02T04:00:00.25Z", row.DateOf(at): "2026-06-01T00:00:00Z",
	} {
		bound, err := d.Bind(value)
		stamp, ok := bound.(interface{ MarshalJSON() ([]byte, error) })
		if err != nil || !ok {
			t.Fatalf("%v, %v", bound, err)
		}
		if text, err := stamp.MarshalJSON(); err != nil || string(text) != `"`+want+`"` {
			t.Errorf("%s is sent as %s, %v", value, text, err)
		}
	}
	_, err = p.Scan(t.Context(), scanners.Request{Args: map[string]any{"v": row.DurationOf(time.Hour)}}, ignore)
	wantCode(t, err, scanners.CodeParam, "duration")
}

// TestErrors lists errors of the server, when they occur, and how they are judged.
func TestErrors(t *testing.T) {
	t.Parallel()
	for number, c := range map[int]struct {
		prepared, scanned scanners.Code
		transient         bool
	}{
		904:   {scanners.CodeStatement, scanners.CodeStatement, false},
		936:   {scanners.CodeStatement, scanners.CodeStatement, false},
		942:   {scanners.CodeStatement, scanners.CodeStatement, false},
		1722:  {scanners.CodeStatement, scanners.CodeFailed, false},
		1456:  {scanners.CodeReadOnly, scanners.CodeReadOnly, false},
		14551: {scanners.CodeReadOnly, scanners.CodeReadOnly, false},
		1013:  {scanners.CodeTimeout, scanners.CodeTimeout, true},
		1555:  {scanners.CodeFailed, scanners.CodeFailed, true},
		3113:  {scanners.CodeUnreachable, scanners.CodeUnreachable, true},
		12514: {scanners.CodeUnreachable, scanners.CodeUnreachable, true},
	} {
		refusal := network.NewOracleError(number)
		refusal.ErrMsg = "something"
		fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{{Match: "WHERE 1 = 0", Err: refusal}}}
		_, err := source(t, "UTC", fake).Prepare(t.Context(), scannertest.Parse(t, "SELECT 1 AS n FROM dual"))
		wantCode(t, err, c.prepared, "ORA-")
		if scanners.IsTransient(err) != c.transient {
			t.Errorf("%v: transient %v", err, !c.transient)
		}
		fake = &sqldbtest.Fake{Answers: []sqldbtest.Answer{described(sqldbtest.Column{Name: "N", Type: "DATE"}), {Match: "dual", Columns: []sqldbtest.Column{{Name: "N"}}, Err: refusal}}}
		_, err = scannertest.Prepare(t, source(t, "UTC", fake), "SELECT 1 AS n FROM dual").Scan(t.Context(), scanners.Request{}, ignore)
		wantCode(t, err, c.scanned, "something")
		log := fake.Log()
		if strings.Contains(strings.Join(log, "\n"), "commit") || log[len(log)-2] != "ROLLBACK" {
			t.Errorf("after a failed scan: %q", log)
		}
	}
	fake := &sqldbtest.Fake{Connect: errors.New("dial oracle://wms:se#cret@db: refused")}
	err := source(t, "UTC", fake).Ping(t.Context())
	wantCode(t, err, scanners.CodeUnreachable, "wms:***@db")
}

// TestTimeout gives up on a server that does not answer, before and after the first row.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, columns := range [][]sqldbtest.Column{nil, {{Name: "N"}}} {
		fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{
			described(number("N")), {Match: "dual", Columns: columns, Rows: [][]driver.Value{{"1"}}, Block: true},
		}}
		p := scannertest.Prepare(t, source(t, "UTC", fake), "SELECT 1 AS n FROM dual")
		fake.Log()
		_, err := p.Scan(t.Context(), scanners.Request{Timeout: 20 * time.Millisecond}, ignore)
		wantCode(t, err, scanners.CodeTimeout, "in time")
		if log := fake.Log(); log[len(log)-1] != "close" {
			t.Errorf("the connection stays open: %q", log)
		}
	}
}

// flooded is the stand-in with a network connection on which the server sends without an end when it is asked for rows.
type flooded struct {
	driver.Conn
	wire net.Conn
}

func (c flooded) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

func (c flooded) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c flooded) CheckNamedValue(*driver.NamedValue) error { return nil }

func (c flooded) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if !strings.Contains(query, "WHERE 1 = 0") {
		if _, err := io.Copy(io.Discard, c.wire); err != nil {
			return nil, errors.New("the driver's words for a closed connection")
		}
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c flooded) Close() error { _ = c.wire.Close(); return c.Conn.Close() }

type connectorFunc func(ctx context.Context) (driver.Conn, error)

func (f connectorFunc) Connect(ctx context.Context) (driver.Conn, error) { return f(ctx) }
func (f connectorFunc) Driver() driver.Driver                            { return nil }

// TestLargeRows tests that a connection is closed if the rows on it are too large together.
func TestLargeRows(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	const few, many = 16 << 20, 64 << 20
	sizes := make(chan int, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			size := <-sizes // in the order of the connections
			go func() {
				defer func() { _ = conn.Close() }()
				_, _ = conn.Write(make([]byte, size))
			}()
		}
	}()
	fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{
		described(number("N")), {Match: "dual", Columns: []sqldbtest.Column{number("N")}, Rows: [][]driver.Value{{"7"}}},
	}}
	wires := sqldb.NewWires(nil, func(dial sqldb.Dial) driver.Connector {
		return connectorFunc(func(ctx context.Context) (driver.Conn, error) {
			wire, err := dial(ctx, "tcp", l.Addr().String())
			if err != nil {
				return nil, err
			}
			conn, err := fake.Connector().Connect(ctx)
			return flooded{conn, wire}, err
		})
	})
	address, err := sqldb.ParseURL("oracle://wms@db/FREEPDB1", "oracle", "1521")
	if err != nil {
		t.Fatal(err)
	}
	s := open(Config{MaxConnections: 1}, &address, wires, wires)
	defer func() { _ = s.Close() }()
	sizes <- 0
	p := scannertest.Prepare(t, s, "SELECT 7 AS n FROM dual")
	sizes <- many
	_, err = p.Scan(t.Context(), scanners.Request{}, ignore)
	wantCode(t, err, scanners.CodeTooLarge, "the rows that the database sends at once hold more than 16777216 bytes")
	sizes <- few
	if rows := scannertest.Rows(t, p, nil); len(rows) != 1 {
		t.Errorf("%d rows", len(rows))
	}
}

// TestClock reads the server's time with the offset of its machine.
func TestClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 6, 1, 8, 0, 0, 0, time.FixedZone("", 8*3600))
	fake := &sqldbtest.Fake{Answers: []sqldbtest.Answer{{Match: "SYS", Columns: []sqldbtest.Column{{Name: "v"}}, Rows: [][]driver.Value{{at}}}}}
	got, err := (&Source{Source: source(t, "UTC", fake)}).Clock(t.Context())
	if err != nil || !got.Equal(at) || got.Location().String() != "+08:00" {
		t.Errorf("%s in %q, %v", got, got.Location(), err)
	}
}
