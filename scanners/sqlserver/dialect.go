package sqlserver

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/golang-sql/civil"
	mssql "github.com/microsoft/go-mssqldb"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// dialect is what SQL Server does its own way.
type dialect struct {
	location *time.Location
	wires    *sqldb.Wires // nil in tests
	limits   scanners.Limits
}

// Style writes parameters as @p1.
func (d *dialect) Style() probe.Style { return probe.At }

//go:embed snapshot.sql
var snapshotSQL string

// Begin starts a transaction that End rolls back.
func (d *dialect) Begin(ctx context.Context, conn *sql.Conn, timeout time.Duration) (sqldb.Transaction, error) {
	t := &transaction{dialect: d, conn: conn}
	defer t.watch(ctx)()
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

// textSize is where the server cuts values of the types that have no size: so far behind the limit that what is left of a longer value
// is above the limit too, whether the server counts bytes or UTF-16, of which each unit is a byte of UTF-8 at least.
func (d *dialect) textSize() int { return 2 * (d.limits.Cell + 1) }

// transaction is one on a connection that has had no other.
type transaction struct {
	dialect *dialect
	conn    *sql.Conn
	failed  bool // a statement did: the driver may not read on where its answer went on
}

func (t *transaction) watch(ctx context.Context) (stop func()) {
	return t.dialect.wires.Watch(ctx, t.conn, sqldb.WireGrace)
}

// Next is for sessions, which there are none of.
func (t *transaction) Next(context.Context, time.Duration) error { return errNoSessions }

var (
	errNoSessions = errors.New("sessions are not available for SQL Server")
	errFailed     = errors.New("a statement failed")
)

// Query runs the statement.
func (t *transaction) Query(ctx context.Context, text string, args []any) (*sql.Rows, func(), error) {
	stop := t.watch(ctx)
	rows, err := t.conn.QueryContext(ctx, text, args...)
	if err != nil {
		stop()
		t.failed = true
		return nil, nil, err
	}
	return rows, func() {
		stop()
		t.failed = t.failed || rows.Err() != nil
	}, nil
}

// Stop ends the context, whereupon the driver sends an attention.
func (t *transaction) Stop(_ context.Context, cancel context.CancelFunc) { cancel() }

// Abandon has nothing to do: the server rolls back what a closed connection had begun.
func (t *transaction) Abandon(context.Context) {}

// End rolls back. After a failed statement the connection is closed instead, and the server rolls back.
func (t *transaction) End(ctx context.Context) error {
	if t.failed {
		return errFailed
	}
	defer t.watch(ctx)()
	_, err := t.conn.ExecContext(ctx, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")
	return err
}

// Bind makes of a parameter's value what the driver sends. Decimals go as their texts, which the server reads as the type that
// they are compared with.
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

// convertGUID writes the form that SQL Server prints: the driver returns the bytes as they are stored, in which the first three groups
// are turned round.
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
