package oracle

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	ora "github.com/sijms/go-ora/v2"
	"github.com/sijms/go-ora/v2/network"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// dialect is the part of the driver that is specific to Oracle.
type dialect struct {
	location *time.Location
	wires    *sqldb.Wires // nil in tests
}

// Style writes parameters as :1.
func (d *dialect) Style() probe.Style { return probe.Numbered }

// Begin starts a read-only transaction. The session settings make the server read texts as times and numbers in the
// same way everywhere.
func (d *dialect) Begin(ctx context.Context, conn *sql.Conn, _ time.Duration) (sqldb.Transaction, error) {
	t := &transaction{ScanTransaction: sqldb.ScanTransaction{Conn: conn, Wires: d.wires}, dialect: d}
	// For the driver, a transaction means only that it does not commit after each statement.
	err := conn.Raw(func(driverConn any) error {
		beginner, ok := driverConn.(driver.ConnBeginTx)
		if !ok {
			return errDriver
		}
		_, err := beginner.BeginTx(ctx, driver.TxOptions{})
		return err
	})
	if err != nil {
		return nil, err
	}
	defer t.Watch(ctx)()
	for _, statement := range []string{
		"ALTER SESSION SET TIME_ZONE = '" + d.location.String() + "' NLS_NUMERIC_CHARACTERS = '.,' NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS' " +
			"NLS_TIMESTAMP_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF' NLS_TIMESTAMP_TZ_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF TZH:TZM'", // a parsed zone has no quote
		"SET TRANSACTION READ ONLY",
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// transaction is a read-only transaction.
type transaction struct {
	sqldb.ScanTransaction
	dialect *dialect
}

var errDriver = errors.New("this version of the Oracle driver has no transactions")

// End rolls back.
func (t *transaction) End(ctx context.Context) error {
	defer t.Watch(ctx)()
	_, err := t.Conn.ExecContext(ctx, "ROLLBACK")
	return err
}

// Bind converts the value of a parameter to the value that the driver sends. Decimals are sent as text, which the
// server reads as NUMBER.
func (d *dialect) Bind(v row.Value) (any, error) {
	switch v.Kind() {
	case row.Bool:
		if v.Bool() { // BOOLEAN exists only from version 23 on; before, a number stands for it
			return int64(1), nil
		}
		return int64(0), nil
	case row.Date:
		return ora.TimeStamp(v.Time()), nil
	case row.Time:
		return ora.TimeStamp(row.At(v.Time().In(d.location), time.UTC)), nil
	case row.Duration:
		return nil, fmt.Errorf("is a duration: give a number of seconds, and compare with NUMTODSINTERVAL(…, 'SECOND')")
	default:
		return sqldb.Plain(v), nil
	}
}

// booleanName is the driver's text for the type BOOLEAN. The driver has no name for this type.
var booleanName = ora.Boolean.String()

// convertInt reads a NUMBER, which the driver returns as text.
func convertInt(dst *row.Value, src any, _ *sqldb.Texts) error {
	text, ok := sqldb.TextOf(src)
	if !ok {
		return sqldb.Retyped(src, row.Int)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return sqldb.Retyped(src, row.Int)
	}
	*dst = row.IntOf(n)
	return nil
}

// Describe asks for the columns of the statement without rows. The parameters are NULL, because they have no values
// yet.
func (t *transaction) Describe(ctx context.Context, stmt *probe.Statement, text string) ([]sqldb.Column, error) {
	if err := sqldb.Refuse(stmt, probe.Oracle(stmt.Text)); err != nil {
		return nil, err
	}
	_, order := stmt.Render(probe.Numbered)
	rows, free, err := t.Query(ctx, "SELECT * FROM (\n"+text+"\n) WHERE 1 = 0", make([]any, len(order)))
	if err != nil {
		return nil, err
	}
	defer free()
	defer func() { _ = rows.Close() }()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	var columns []sqldb.Column
	var faults scanners.ColumnFaults
	for _, ct := range types {
		c, err := t.dialect.column(ct, stmt.NullExtended)
		if err != nil && !faults.Add(err) {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, cmp.Or(rows.Err(), faults.Err())
}

// wholeDigits is how many decimal digits a whole number may have if every such number must fit an int64.
const wholeDigits = 18

// column returns how a column is read, by the driver's name for its type.
func (d *dialect) column(ct *sql.ColumnType, nullExtended bool) (sqldb.Column, error) {
	nullable, told := ct.Nullable()
	name := ct.DatabaseTypeName()
	c := sqldb.Column{Column: row.Column{Name: ct.Name(), DBType: name, Nullable: nullable || !told || nullExtended}}
	set := func(kind row.Kind, dbType string, convert sqldb.Convert) (sqldb.Column, error) {
		c.Kind, c.DBType, c.Convert = kind, dbType, convert
		return c, nil
	}
	switch name {
	case "NUMBER":
		precision, scale, _ := ct.DecimalSize()
		switch {
		case scale == 0 && precision > 0 && precision <= wholeDigits:
			return set(row.Int, fmt.Sprintf("NUMBER(%d)", precision), convertInt)
		case scale > 127: // NUMBER without a precision, or FLOAT
			return set(row.Decimal, "NUMBER", sqldb.ToDecimal)
		}
		return set(row.Decimal, fmt.Sprintf("NUMBER(%d,%d)", precision, scale), sqldb.ToDecimal)
	case "IBFloat", "BFloat":
		return set(row.Float, "BINARY_FLOAT", sqldb.ToFloat)
	case "IBDouble", "BDouble":
		return set(row.Float, "BINARY_DOUBLE", sqldb.ToFloat)
	case "NCHAR", "VARCHAR": // NCHAR is the driver's name for VARCHAR2 and NVARCHAR2
		return set(row.Text, "VARCHAR2", sqldb.ToText)
	case "CHAR", "CHARZ":
		return set(row.Text, "CHAR", sqldb.ToChar)
	case "LONG", "LongVarChar":
		return set(row.Text, "LONG", sqldb.ToText)
	case "OCIClobLocator":
		return set(row.Text, "CLOB", sqldb.ToText)
	case "ROWID", "UROWID":
		return set(row.Text, name, sqldb.ToText)
	case "RAW", "VarRaw":
		return set(row.Bytes, "RAW", sqldb.ToBytes)
	case "LongRaw", "LongVarRaw":
		return set(row.Bytes, "LONG RAW", sqldb.ToBytes)
	case "OCIBlobLocator":
		return set(row.Bytes, "BLOB", sqldb.ToBytes)
	case "DATE", "OCIDate":
		return set(row.Time, "DATE", sqldb.ToLocal(d.location))
	case "TIMESTAMP", "TimeStampDTY":
		return set(row.Time, "TIMESTAMP", sqldb.ToLocal(d.location))
	case "TimeStampTZ", "TimeStampTZ_DTY":
		return set(row.Time, "TIMESTAMP WITH TIME ZONE", sqldb.ToInstant)
	case "TimeStampeLTZ", "TimeStampLTZ_DTY":
		return set(row.Time, "TIMESTAMP WITH LOCAL TIME ZONE", sqldb.ToInstant)
	case "IntervalDS", "IntervalDS_DTY":
		return set(row.Text, "INTERVAL DAY TO SECOND", sqldb.ToText)
	case "IntervalYM", "IntervalYM_DTY":
		return set(row.Text, "INTERVAL YEAR TO MONTH", sqldb.ToText)
	case booleanName:
		return set(row.Bool, "BOOLEAN", sqldb.ToBool)
	}
	return c, &scanners.Error{
		Code: scanners.CodeColumn, Hint: "CAST the column to a type that conditions can use, or write JSON_SERIALIZE(…) or XMLSERIALIZE(…)",
		Err: fmt.Errorf("column %s: conditions cannot use the type %s", strings.ToLower(ct.Name()), name),
	}
}

// Answer judges an error by its number.
func (d *dialect) Answer(err error, code scanners.Code) *scanners.Error {
	var e *network.OracleError
	if !errors.As(err, &e) {
		return nil
	}
	mapped := &scanners.Error{Code: code, Err: errors.New(said(e))}
	if v, found := verdicts[e.ErrCode]; found {
		return v.Apply(mapped.Err)
	}
	switch {
	case code == scanners.CodeUnreachable: // any error while connecting
		mapped.Transient = true
	case e.ErrCode >= 900 && e.ErrCode < 1000: // faults in the text of a statement
		mapped.Code = scanners.CodeStatement
	case e.ErrCode >= 12150 && e.ErrCode < 12700: // the network
		mapped.Code, mapped.Transient = scanners.CodeUnreachable, true
	}
	return mapped
}

// said returns the server's message, which begins with its number.
func said(e *network.OracleError) string {
	text := strings.Join(strings.Fields(e.Error()), " ")
	if number := fmt.Sprintf("ORA-%05d", e.ErrCode); !strings.Contains(text, number) {
		text = strings.TrimSuffix(number+": "+text, ": ")
	}
	return text
}

// The verdicts of all databases, by short names for the table.
var away, again, writes, notGranted = sqldb.Away, sqldb.Again, sqldb.Writes, sqldb.NotGranted

// verdicts has the errors that mean the same while connecting, preparing and running, by their number.
var verdicts = map[int]sqldb.Verdict{
	1013: {Code: scanners.CodeTimeout, Transient: true},
	918:  {Code: scanners.CodeStatement, Hint: "name the column with AS, or write the name of its table before it"},
	942:  notGranted, 1031: notGranted, 41900: notGranted,
	1456: writes, 14551: writes, 14552: writes, 16000: writes,
	54: again, 60: again, 1555: again, 1652: again, 4031: again, 4068: again, 8176: again, 8177: again, 30006: again,
	18: away, 20: away, 2391: away, // too many sessions
	1017: away, 1005: away, 1045: away, 28000: away, 28001: away, 28009: away, // no login
	// the server stops, or this session was killed
	28: away, 1012: away, 1033: away, 1034: away, 1089: away, 1090: away, 1092: away, 2396: away,
	3113: away, 3114: away, 3135: away, 25408: away,
}
