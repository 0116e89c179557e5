package sqlserver

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/golang-sql/civil"
	mssql "github.com/microsoft/go-mssqldb"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// dialect is the part of the driver that is specific to SQL Server.
type dialect struct {
	location *time.Location
	wires    *sqldb.Wires // nil in tests
	limits   scanners.Limits
}

// Style writes parameters as @p1.
func (d *dialect) Style() probe.Style { return probe.At }

//go:embed snapshot.sql
var snapshotSQL string

// Begin starts a transaction. End rolls it back.
func (d *dialect) Begin(ctx context.Context, conn *sql.Conn, timeout time.Duration) (sqldb.Transaction, error) {
	t := &transaction{ScanTransaction: sqldb.ScanTransaction{Conn: conn, Wires: d.wires}, dialect: d}
	defer t.Watch(ctx)()
	var state int
	if err := conn.QueryRowContext(ctx, snapshotSQL).Scan(&state); err != nil {
		return nil, err
	}
	isolation := "READ COMMITTED"
	if state == 1 {
		isolation = "SNAPSHOT"
	}
	_, err := conn.ExecContext(ctx, fmt.Sprintf("SET NOCOUNT ON; SET QUOTED_IDENTIFIER ON; SET ANSI_NULLS ON; SET ANSI_PADDING ON; SET CONCAT_NULL_YIELDS_NULL ON; "+
		"SET LOCK_TIMEOUT %d; SET TEXTSIZE %d; SET TRANSACTION ISOLATION LEVEL %s; BEGIN TRANSACTION", max(timeout.Milliseconds(), 1), d.textSize(), isolation))
	if err != nil {
		return nil, err
	}
	return t, nil
}

// textSize is where the server cuts values of types without a size. A cut value must still be above the limit. The
// server may count bytes, or UTF-16 units of two bytes. Each UTF-16 unit becomes at least one byte of UTF-8. So the cut
// is at twice the limit, but at most at the length of the longest value that the server has.
func (d *dialect) textSize() int {
	if d.limits.Cell >= math.MaxInt32/2 {
		return math.MaxInt32
	}
	return 2 * (d.limits.Cell + 1)
}

// transaction is never committed.
type transaction struct {
	sqldb.ScanTransaction
	dialect *dialect
	failed  bool // a statement failed: the driver may not be able to continue reading on the connection
}

var errFailed = errors.New("a statement failed")

// Query runs the statement, and remembers a failure.
func (t *transaction) Query(ctx context.Context, text string, args []any) (*sql.Rows, func(), error) {
	rows, stop, err := t.ScanTransaction.Query(ctx, text, args)
	if err != nil {
		t.failed = true
		return nil, nil, err
	}
	return rows, func() {
		stop()
		t.failed = t.failed || rows.Err() != nil
	}, nil
}

// End rolls back. After a failed statement the connection is closed instead, and the server rolls back.
func (t *transaction) End(ctx context.Context) error {
	if t.failed {
		return errFailed
	}
	defer t.Watch(ctx)()
	_, err := t.Conn.ExecContext(ctx, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")
	return err
}

// Bind converts the value of a parameter to the value that the driver sends. Decimals are sent as text, which the
// server reads as the type that they are compared with.
func (d *dialect) Bind(v row.Value) (any, error) {
	switch v.Kind() {
	case row.Date:
		return civil.DateOf(v.Time()), nil
	case row.Time:
		return civil.DateTimeOf(v.Time().In(d.location)), nil
	case row.Duration:
		return nil, errors.New("is a duration, which SQL Server does not have")
	default:
		return sqldb.Plain(v), nil
	}
}

func convertJSON(dst *row.Value, src any, _ *sqldb.Texts) error {
	text, ok := sqldb.TextOf(src)
	if !ok {
		return sqldb.Retyped(src, row.JSON)
	}
	*dst = row.JSONOf(text)
	return nil
}

// convertGUID returns the form that SQL Server prints. The driver returns the stored bytes, in which the first three
// groups are reversed.
func convertGUID(dst *row.Value, src any, _ *sqldb.Texts) error {
	var id mssql.UniqueIdentifier
	if err := id.Scan(src); err != nil {
		return sqldb.Retyped(src, row.Text)
	}
	*dst = row.TextOf(id.String())
	return nil
}

func convertDate(dst *row.Value, src any, _ *sqldb.Texts) error {
	t, ok := src.(time.Time)
	if !ok {
		return sqldb.Retyped(src, row.Date)
	}
	*dst = row.DateOf(t)
	return nil
}

func convertTimeOfDay(dst *row.Value, src any, _ *sqldb.Texts) error {
	t, ok := src.(time.Time)
	if !ok {
		return sqldb.Retyped(src, row.Text)
	}
	*dst = row.TextOf(t.Format("15:04:05.999999999"))
	return nil
}

//go:embed describe.sql
var describeSQL string

// Describe lets the server compile the statement.
func (t *transaction) Describe(ctx context.Context, stmt *probe.Statement, text string) ([]sqldb.Column, error) {
	if err := sqldb.Refuse(stmt, probe.SQLServer(stmt.Text)); err != nil {
		return nil, err
	}
	rows, free, err := t.Query(ctx, describeSQL, []any{text, parameterTypes(stmt)})
	if err != nil {
		return nil, err
	}
	defer free()
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var columns []sqldb.Column
	var faults scanners.ColumnFaults
	for rows.Next() {
		var f field
		dest := make([]any, len(names))
		for i, name := range names {
			dest[i] = f.at(name)
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		if f.hidden {
			continue
		}
		c, err := t.dialect.column(&f)
		if err != nil && !faults.Add(err) {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, cmp.Or(rows.Err(), faults.Err())
}

// parameterTypes declares the parameters for the description. Built-in times have the type in which they are sent. All
// others are texts, which the server can convert to any type.
func parameterTypes(stmt *probe.Statement) string {
	_, order := stmt.Render(probe.At)
	var types []string
	for i, name := range order {
		kind := "nvarchar(4000)"
		if stmt.Times[name] {
			kind = "datetime2"
		}
		types = append(types, fmt.Sprintf("@p%d %s", i+1, kind))
	}
	return strings.Join(types, ", ")
}

// field is a column as sp_describe_first_result_set returns it.
type field struct {
	hidden   bool
	name     sql.NullString
	nullable bool
	typeName sql.NullString
}

// at returns where to store the procedure's column of that name.
func (f *field) at(name string) any {
	switch name {
	case "is_hidden":
		return &f.hidden
	case "name":
		return &f.name
	case "is_nullable":
		return &f.nullable
	case "system_type_name":
		return &f.typeName
	}
	return new(any)
}

// column returns how a column is read. The server itself reports when an outer join makes a NOT NULL column nullable.
func (d *dialect) column(f *field) (sqldb.Column, error) {
	base, _, _ := strings.Cut(f.typeName.String, "(")
	c := sqldb.Column{Column: row.Column{Name: f.name.String, DBType: f.typeName.String, Nullable: f.nullable}}
	switch base {
	case "bit":
		c.Kind, c.Convert = row.Bool, sqldb.ToBool
	case "tinyint", "smallint", "int", "bigint":
		c.Kind, c.Convert = row.Int, sqldb.ToInt
	case "real", "float":
		c.Kind, c.Convert = row.Float, sqldb.ToFloat
	case "decimal", "numeric", "money", "smallmoney":
		c.Kind, c.Convert = row.Decimal, sqldb.ToDecimal
	case "char", "nchar":
		c.Kind, c.Convert = row.Text, sqldb.ToChar
	case "varchar", "nvarchar", "text", "ntext", "xml", "sysname":
		c.Kind, c.Convert = row.Text, sqldb.ToText
	case "binary", "varbinary", "image", "timestamp", "rowversion":
		c.Kind, c.Convert = row.Bytes, sqldb.ToBytes
	case "date":
		c.Kind, c.Convert = row.Date, convertDate
	case "datetime", "datetime2", "smalldatetime":
		c.Kind, c.Convert = row.Time, sqldb.ToLocal(d.location)
	case "datetimeoffset":
		c.Kind, c.Convert = row.Time, sqldb.ToInstant
	case "time":
		c.Kind, c.Convert = row.Text, convertTimeOfDay
	case "uniqueidentifier":
		c.Kind, c.Convert = row.Text, convertGUID
	case "json":
		c.Kind, c.Convert = row.JSON, convertJSON
	default:
		return c, &scanners.Error{
			Code: scanners.CodeColumn, Hint: "CAST the column to a type that conditions can use",
			Err: fmt.Errorf("column %s: conditions cannot use the type %s", f.name.String, f.typeName.String),
		}
	}
	return c, nil
}

// Answer judges an error by its number.
func (d *dialect) Answer(err error, code scanners.Code) *scanners.Error {
	var e mssql.Error
	if !errors.As(err, &e) {
		return nil
	}
	text := strings.Join(strings.Fields(e.Message), " ")
	if e.LineNo > 1 && code == scanners.CodeStatement {
		text += fmt.Sprintf(" (line %d of the probe)", e.LineNo)
	}
	mapped := &scanners.Error{Code: code, Err: fmt.Errorf("%s [error %d]", text, e.Number)}
	if v, found := verdicts[e.Number]; found {
		return v.Apply(mapped.Err)
	}
	switch {
	case code == scanners.CodeUnreachable: // any error while connecting
		mapped.Transient = true
	case e.Class >= 20: // the server ends the connection
		mapped.Code, mapped.Transient = scanners.CodeUnreachable, true
	case e.Class == 17 || e.Class == 19: // the server has run out of a resource
		mapped.Transient = true
	}
	return mapped
}

var (
	invalid    = sqldb.Verdict{Code: scanners.CodeStatement}
	undeclared = sqldb.Verdict{Code: scanners.CodeStatement, Hint: "say which type is meant: CAST(:name AS bigint)"}
)

// The verdicts of all databases, by short names for the table.
var away, again, writes, notGranted = sqldb.Away, sqldb.Again, sqldb.Writes, sqldb.NotGranted

// verdicts has the errors that mean the same while connecting, preparing and running, by their number in sys.messages.
var verdicts = map[int32]sqldb.Verdict{
	1222: {Code: scanners.CodeTimeout, Transient: true, Hint: "the rows are locked by a writer; SNAPSHOT isolation in the database avoids that"},
	1205: again,                           // deadlock victim
	3960: again, 3961: again, 3966: again, // the snapshot is gone
	701: again, 8645: again, 8651: again, // no memory

	3906: writes, 3908: writes, // the database is read-only
	229: notGranted, 230: notGranted, 262: notGranted, 297: notGranted, 300: notGranted,
	102: invalid, 156: invalid, 207: invalid, 208: invalid, 209: invalid, 4104: invalid, 8120: invalid, 8155: invalid,
	11509: undeclared, 11526: undeclared,

	18456: away, 18452: away, 18470: away, 18488: away, 4060: away, // no login, no database
	233: away, 10053: away, 10054: away, 10060: away, 40197: away, 40501: away, 40613: away, 49918: away, 49919: away, 49920: away, 6005: away,
}
