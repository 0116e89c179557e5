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
	variable, value := "max_execution_time", fmt.Sprint(max(timeout.Milliseconds(), 1))
	if t.maria {
		variable, value = "max_statement_time", fmt.Sprintf("%.3f", max(timeout.Seconds(), 0.001))
	}
	return fmt.Sprintf(
		"SET NAMES utf8mb4, sql_mode = CONCAT(@@GLOBAL.sql_mode, '"+sqlModes+"'), time_zone = '%s', %s = %s, lock_wait_timeout = %d",
		t.dialect.zone(), variable, value, int64(max(timeout.Seconds()+0.999, 1))) // the zone was parsed, so it has no quote
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

// session is one snapshot with tables of its own. They are temporary ones, which the server finds before the others of
// their names, also where the name has its database before it; only views read past them.
type session struct {
	*sqldb.Session
	tx    *transaction
	views views
}

// Session stages the tables and then begins the transaction, which is READ ONLY from its first statement on.
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

// snapshot begins the session's transaction. The savepoint is what each statement goes back to.
func (t *transaction) snapshot(ctx context.Context) error {
	return t.execute(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", "SAVEPOINT statement")
}

// Next takes back what a function that the last statement called has done: to staged tables, which READ ONLY does not keep from
// it, to settings and locks.
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

// Prepare refuses a statement that would read a table of the database, through a view, in spite of the one that is staged for it.
func (x *session) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.PreparedProbe, error) {
	p, err := x.Session.Prepare(ctx, stmt)
	if err != nil {
		return nil, err
	}
	tokens, _ := probe.Lex(stmt.Text)
	for i, t := range tokens {
		name := relation{database: x.views.home, table: strings.ToLower(t.Name())}
		if i >= 2 && tokens[i-1].Is(".") && tokens[i-2].Name() != "" {
			name.database = strings.ToLower(tokens[i-2].Name())
		}
		if err := x.views.bypass(name); err != nil {
			return nil, err
		}
	}
	return p, nil
}
