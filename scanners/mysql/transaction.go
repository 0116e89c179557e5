package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"tallyman/rules/probe"
	"tallyman/scanners/sqldb"
)

// transaction is one on a connection that has had no other.
type transaction struct {
	dialect *dialect
	conn    *sql.Conn
	id      int64 // of the connection, for KILL
	maria   bool
}

// Style writes parameters as ? and says of built-in times that they are.
func (d *dialect) Style() probe.Style { return probe.QuestionTime }

// Begin starts a read-only transaction.
func (d *dialect) Begin(ctx context.Context, conn *sql.Conn, timeout time.Duration) (sqldb.Transaction, error) {
	t, err := d.open(ctx, conn, timeout)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, "START TRANSACTION READ ONLY"); err != nil {
		return nil, err
	}
	return t, nil
}

// open finds out who answers and sets the session up.
func (d *dialect) open(ctx context.Context, conn *sql.Conn, timeout time.Duration) (*transaction, error) {
	t := &transaction{dialect: d, conn: conn}
	var version string
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID(), VERSION()").Scan(&t.id, &version); err != nil {
		return nil, err
	}
	t.maria = strings.Contains(version, "MariaDB")
	_, err := conn.ExecContext(ctx, t.settings(timeout))
	return t, err
}

// sqlModes have the server read SQL as rules/probe does.
const sqlModes = ",ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT"

// settings make the session read SQL as rules/probe does, beside the modes that the server has; give it UTF-8 and the source's
// time zone; and say how long a statement may run and may wait for a table that is being altered.
func (t *transaction) settings(timeout time.Duration) string {
	clock, value := "max_execution_time", fmt.Sprint(max(timeout.Milliseconds(), 1))
	if t.maria {
		clock, value = "max_statement_time", fmt.Sprintf("%.3f", max(timeout.Seconds(), 0.001))
	}
	return fmt.Sprintf(
		"SET NAMES utf8mb4, sql_mode = CONCAT(@@GLOBAL.sql_mode, '"+sqlModes+"'), time_zone = '%s', %s = %s, lock_wait_timeout = %d",
		t.dialect.zone, clock, value, int64(max(timeout.Seconds()+0.999, 1))) // the zone was parsed, so it has no quote
}

// Query runs the statement in the binary protocol.
func (t *transaction) Query(ctx context.Context, text string, args []any) (*sql.Rows, func(), error) {
	stmt, err := t.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, nil, err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		_ = stmt.Close()
		return nil, nil, err
	}
	return rows, func() { _ = stmt.Close() }, nil
}

// Stop kills the statement. The connection and its transaction live on.
func (t *transaction) Stop(ctx context.Context, cancel context.CancelFunc) {
	if t.dialect.kill(ctx, "QUERY", t.id) != nil {
		cancel()
	}
}

// Abandon kills what the connection still ran when it was closed.
func (t *transaction) Abandon(ctx context.Context) {
	_ = t.dialect.kill(ctx, "CONNECTION", t.id) // unknown by now where it had ended by itself
}

// End rolls back. The connection is not used again, so nothing else has to be undone.
func (t *transaction) End(ctx context.Context) error {
	_, err := t.conn.ExecContext(ctx, "ROLLBACK")
	return err
}
