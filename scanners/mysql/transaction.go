package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"tallyman/rules/probe"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// transaction is the only transaction of its connection.
type transaction struct {
	dialect *dialect
	conn    *sql.Conn
	id      int64 // of the connection, for KILL
	maria   bool
}

// Style writes parameters as ?, and marks built-in times as times.
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

// open finds out which server answers, and sets up the session.
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

// sqlModes make the server read SQL as rules/probe does.
const sqlModes = ",ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT"

// settings returns the statement that sets up the session. The session reads SQL as rules/probe does, in UTF-8 and in
// the source's time zone. The statement also limits how long a statement may run, and how long it may wait for a table
// that is being altered.
func (t *transaction) settings(timeout time.Duration) string {
	variable, value := "max_execution_time", fmt.Sprint(max(timeout.Milliseconds(), 1))
	if t.maria {
		variable, value = "max_statement_time", fmt.Sprintf("%.3f", max(timeout.Seconds(), 0.001))
	}
	return fmt.Sprintf(
		"SET NAMES utf8mb4, sql_mode = CONCAT(@@GLOBAL.sql_mode, '"+sqlModes+"'), time_zone = '%s', %s = %s, lock_wait_timeout = %d",
		// the zone was parsed, so it contains no quotes
		t.dialect.zone(), variable, value, int64(max(timeout.Seconds()+0.999, 1)))
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

// Stop kills the statement. The connection and its transaction stay open.
func (t *transaction) Stop(ctx context.Context, cancel context.CancelFunc) {
	if t.dialect.kill(ctx, "QUERY", t.id) != nil {
		cancel()
	}
}

// Abandon kills the statement that may still run after the connection was closed.
func (t *transaction) Abandon(ctx context.Context) {
	_ = t.dialect.kill(ctx, "CONNECTION", t.id) // fails if the connection has already ended by itself
}

// End rolls back. The connection is not used again, so nothing else must be undone.
func (t *transaction) End(ctx context.Context) error {
	_, err := t.conn.ExecContext(ctx, "ROLLBACK")
	return err
}

// session is one snapshot with tables of its own. These are temporary tables. The server prefers them to other tables
// of the same name, even if the name includes the database. Only views read the other tables.
type session struct {
	*sqldb.Session
	tx    *transaction
	views views
}

// Session stages the tables, and then begins the transaction, which is READ ONLY from its first statement on.
func (s *Source) Session(ctx context.Context, staged []scanners.StagedTable) (scanners.Session, error) {
	x := &session{}
	start := func(ctx context.Context, conn *sql.Conn, timeout time.Duration) (sqldb.Transaction, error) {
		var err error
		if x.tx, err = s.dialect.open(ctx, conn, timeout); err != nil {
			return nil, err
		}
		if x.views, err = x.tx.stage(ctx, staged); err != nil {
			return nil, err
		}
		return x.tx, x.tx.snapshot(ctx)
	}
	held, err := s.Hold(ctx, start)
	if err != nil {
		return nil, err
	}
	x.Session = held
	return x, nil
}

// snapshot begins the session's transaction. Next rolls back to the savepoint before each statement.
func (t *transaction) snapshot(ctx context.Context) error {
	return t.execute(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", "SAVEPOINT statement")
}

// Next undoes the changes that functions of the last statement made to settings, locks and staged tables. READ ONLY
// does not protect staged tables.
func (t *transaction) Next(ctx context.Context, timeout time.Duration) error {
	return t.execute(ctx, "ROLLBACK TO SAVEPOINT statement", "DO RELEASE_ALL_LOCKS(), LAST_INSERT_ID(0)", t.settings(timeout))
}

func (t *transaction) execute(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := t.conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Prepare refuses a statement that would read, through a view, a table of the database although a table is staged for
// it.
func (x *session) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.PreparedProbe, error) {
	p, err := x.Session.Prepare(ctx, stmt)
	if err != nil {
		return nil, err
	}
	tokens, _ := probe.Lex(stmt.Text)
	for i := range tokens {
		name, _ := nameAt(tokens, i, x.views.home)
		if err := x.views.bypass(name); err != nil {
			return nil, err
		}
	}
	return p, nil
}
