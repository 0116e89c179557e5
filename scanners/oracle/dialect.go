package oracle

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"time"

	ora "github.com/sijms/go-ora/v2"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners/sqldb"
)

// dialect is what Oracle does its own way.
type dialect struct {
	location *time.Location
	zone     string       // as ALTER SESSION takes it
	wires    *sqldb.Wires // nil in tests
}

// Style writes parameters as :1.
func (d *dialect) Style() probe.Style { return probe.Numbered }

// Begin starts a read-only transaction in a session that reads texts as times and numbers in one way, wherever the server stands.
func (d *dialect) Begin(ctx context.Context, conn *sql.Conn, _ time.Duration) (sqldb.Transaction, error) {
	t := &transaction{dialect: d, conn: conn}
	// To the driver a transaction is that it does not commit after each statement.
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
	defer t.watch(ctx)()
	for _, statement := range []string{
		"ALTER SESSION SET TIME_ZONE = '" + d.zone + "' NLS_NUMERIC_CHARACTERS = '.,' NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS' " +
			"NLS_TIMESTAMP_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF' NLS_TIMESTAMP_TZ_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF TZH:TZM'", // a loaded zone has no quote
		"SET TRANSACTION READ ONLY",
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// transaction is one on a connection that has had no other.
type transaction struct {
	dialect *dialect
	conn    *sql.Conn
}

var errDriver = errors.New("this version of the Oracle driver has no transactions")

func (t *transaction) watch(ctx context.Context) (stop func()) {
	return t.dialect.wires.Watch(ctx, t.conn, sqldb.WireGrace)
}

// Next is for sessions, which there are none of.
func (t *transaction) Next(context.Context, time.Duration) error {
	return errors.New("sessions are not available for Oracle")
}

// Query runs the statement.
func (t *transaction) Query(ctx context.Context, text string, args []any) (*sql.Rows, func(), error) {
	stop := t.watch(ctx)
	rows, err := t.conn.QueryContext(ctx, text, args...)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return rows, stop, nil
}

// Stop ends the context, with which the connection is closed.
func (t *transaction) Stop(_ context.Context, cancel context.CancelFunc) { cancel() }

// Abandon has nothing to do: the server rolls back what a closed connection had begun.
func (t *transaction) Abandon(context.Context) {}

// End rolls back.
func (t *transaction) End(ctx context.Context) error {
	defer t.watch(ctx)()
	_, err := t.conn.ExecContext(ctx, "ROLLBACK")
	return err
}

// Bind makes of a parameter's value what the driver sends. Decimals go as their texts, which the server reads as NUMBER.
func (d *dialect) Bind(v row.Value) (any, error) {
	switch v.Kind() {
	case row.Bool:
		if v.Bool() { // BOOLEAN is only there from 23 on; what stands for it is a number
			return int64(1), nil
		}
		return int64(0), nil
	case row.Date:
		return ora.TimeStamp(v.Time()), nil
	case row.Time:
		return ora.TimeStamp(sqldb.At(v.Time().In(d.location), time.UTC)), nil
	case row.Duration:
		return nil, fmt.Errorf("is a duration: give a number of seconds, and compare with NUMTODSINTERVAL(…, 'SECOND')")
	default:
		return sqldb.Plain(v), nil
	}
}

// booleanName is what the driver calls BOOLEAN, for which it has no name.
var booleanName = ora.Boolean.String()

// convertInt reads the text that the driver makes of a NUMBER.
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
