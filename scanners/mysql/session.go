package mysql

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"tallyman/rules/probe"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// session is one snapshot with tables of its own. They are temporary ones, which the server finds before the others of
// their names, also where the name has its database before it; only views read past them.
type session struct {
	*sqldb.Session
	tx    *transaction
	views views
}

// Session stages the tables and then begins the transaction, which is READ ONLY from its first statement on.
func (s *Source) Session(ctx context.Context, staged []scanners.Staged) (scanners.Session, error) {
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
func (x *session) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.Prepared, error) {
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
