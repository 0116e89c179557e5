package postgres

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

// session is one transaction over one snapshot. Each of its statements is a savepoint's: what it did is rolled back, and
// one that fails does not take the others with it. A statement whose context ends takes the connection with it, and
// the session is over.
type session struct {
	source *Source
	conn   *pgxpool.Conn // nil after Close
	hidden []string      // OIDs of the database's own tables that staged ones stand before
}

var errOver = errors.New("the session is over: it was closed, or a statement in it was cut short")

// Session begins a transaction. Only to stage tables it is a writing one for a moment; nothing of it is ever committed.
func (s *Source) Session(ctx context.Context, staged []scanners.Staged) (scanners.Session, error) {
	mode := "READ ONLY"
	if len(staged) > 0 {
		mode = "READ WRITE"
	}
	conn, err := s.start(ctx, s.timeout, "ISOLATION LEVEL REPEATABLE READ "+mode)
	switch {
	case err != nil && len(staged) > 0:
		return nil, cannotStage(&staged[0], err, "a standby holds no temporary tables: use the primary, or no source")
	case err != nil:
		return nil, err
	}
	x := &session{source: s, conn: conn}
	ctx, cancel := context.WithTimeout(ctx, s.timeout+deadlineGrace)
	defer cancel()
	if err := x.stage(ctx, staged); err != nil {
		s.end(ctx, conn)
		return nil, err
	}
	// The snapshot is the first statement's; after it nothing makes the transaction a writing one again.
	if err := s.execute(ctx, conn.Conn().PgConn(), "SET TRANSACTION READ ONLY; SELECT 1"); err != nil {
		s.end(ctx, conn)
		return nil, err
	}
	return x, nil
}

// Close rolls everything back and gives the connection back.
func (x *session) Close() error {
	if x.conn != nil {
		x.source.end(context.Background(), x.conn)
		x.conn = nil
	}
	return nil
}

// Prepare describes the statement. One that would read a table of the database in spite of the one that is staged for it
// is refused.
func (x *session) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.Prepared, error) {
	conn, err := x.begin(ctx, x.source.timeout)
	if err != nil {
		return nil, err
	}
	defer x.end(ctx, conn)
	ctx, cancel := context.WithTimeout(ctx, x.source.timeout+deadlineGrace)
	defer cancel()
	p, err := x.source.prepare(ctx, conn.Conn().PgConn(), stmt)
	if err != nil {
		return nil, err
	}
	if err := x.bypasses(ctx, stmt); err != nil {
		return nil, err
	}
	p.tx = x
	return p, nil
}

// begin marks where end returns to.
func (x *session) begin(ctx context.Context, timeout time.Duration) (*pgxpool.Conn, error) {
	if x.conn == nil || x.conn.Conn().IsClosed() {
		return nil, &scanners.Error{Code: scanners.CodeFailed, Err: errOver}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout+deadlineGrace)
	defer cancel()
	if err := x.source.execute(ctx, x.conn.Conn().PgConn(), "SAVEPOINT statement; "+setTimeout(timeout)); err != nil {
		return nil, err
	}
	return x.conn, nil
}

// stop asks the server to cancel the statement, since closing the connection would end the session.
func (x *session) stop(ctx context.Context, conn *pgxpool.Conn, cancel context.CancelFunc) {
	if conn.Conn().PgConn().CancelRequest(ctx) != nil {
		cancel()
	}
}

//go:embed end_statement.sql
var endStatementSQL string

func (x *session) end(ctx context.Context, conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	for range 2 { // the request to cancel a statement that was over by then may hit this one
		if conn.Conn().IsClosed() {
			return
		}
		if x.source.execute(ctx, conn.Conn().PgConn(), endStatementSQL) == nil {
			return
		}
	}
	_ = conn.Conn().Close(ctx)
}

//go:embed bypass.sql
var bypassSQL string

// bypasses refuses a statement that names a staged table with its schema, or a view over one: both read the database's own.
func (x *session) bypasses(ctx context.Context, stmt *probe.Statement) error {
	if len(x.hidden) == 0 {
		return nil
	}
	names, err := json.Marshal(relations(stmt.Text))
	if err != nil {
		return fmt.Errorf("names of the statement: %w", err)
	}
	found, err := x.source.query(ctx, x.conn.Conn().PgConn(), bypassSQL, string(names), "{"+strings.Join(x.hidden, ",")+"}")
	if err != nil || len(found) == 0 {
		return err
	}
	name, table := found[0][0], found[0][1]
	e := &scanners.Error{
		Code: scanners.CodeStage, Hint: "write " + table + " without its schema, so that the staged table is read",
		Err: fmt.Errorf("%s is the database's own table, which the staged %s does not stand before", name, table),
	}
	if found[0][2] == "t" {
		e.Err = fmt.Errorf("%s is a view over the database's own %s, which the staged one does not stand before", name, table)
		e.Hint = "stage " + name + " itself"
	}
	return e
}

// relations returns what may be the name of a table in the SQL: every name, and every two with a point between them.
func relations(sql string) []string {
	names := []string{}
	tokens, _ := probe.Lex(sql)
	for i, t := range tokens {
		name := t.Name()
		if name == "" {
			continue
		}
		names = append(names, quoted(name))
		if i >= 2 && tokens[i-1].Is(".") && tokens[i-2].Name() != "" {
			names = append(names, quoted(tokens[i-2].Name())+"."+quoted(name))
		}
	}
	return names
}
