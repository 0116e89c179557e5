package postgres

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

// endTimeout bounds the clean-up after a scan. A connection that does not answer by then is closed.
const endTimeout = 5 * time.Second

// transaction is where a statement runs: in a transaction of its own (Source), or in a savepoint of a session's
// transaction (session). After end, all effects of the statement are gone.
type transaction interface {
	begin(ctx context.Context, timeout time.Duration) (*pgxpool.Conn, error)
	end(ctx context.Context, conn *pgxpool.Conn)
	// scan combines begin, one statement and end in as few round trips as possible.
	scan(ctx context.Context, q *scanStatement) (scanners.Result, error)
}

// scanStatement is a statement whose rows are read one by one.
type scanStatement struct {
	timeout time.Duration // the server's timeout of the statement
	plain   bool          // the statement calls only PostgreSQL's own functions, so it leaves nothing in its session
	add     func(to *pgconn.Pipeline)
	// read reads the rows. ctx is the context of the statement. stop makes the server end the statement, whose remaining
	// rows are not needed.
	read func(ctx context.Context, from *pgconn.Pipeline, stop func()) (scanners.Result, error)
}

//go:embed end.sql
var endSQL string

// begin starts the read-only transaction of one statement.
func (s *Source) begin(ctx context.Context, timeout time.Duration) (*pgxpool.Conn, error) {
	return s.start(ctx, timeout, "READ ONLY")
}

// start begins a transaction of this mode.
func (s *Source) start(ctx context.Context, timeout time.Duration, mode string) (*pgxpool.Conn, error) {
	return s.open(ctx, timeout, func(ctx context.Context, conn *pgconn.PgConn) error {
		return s.execute(ctx, conn, strings.Join(s.opening(conn, timeout, mode), "; "))
	})
}

// open takes a connection and calls begin to start a transaction on it. In all, open waits at most for the timeout of
// the statement plus the timeout to connect. If a pooled connection is dead, because the server was restarted, open
// empties the pool and tries once more.
func (s *Source) open(ctx context.Context, timeout time.Duration, begin func(context.Context, *pgconn.PgConn) error) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout+s.pool.Config().ConnConfig.ConnectTimeout)
	defer cancel()
	for first := true; ; first = false {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			mapped := s.mapError(ctx, err, "")
			if mapped.Code == scanners.CodeTimeout {
				mapped.Hint = "every connection of the source may be in use: see max_connections"
			}
			return nil, mapped
		}
		if err = begin(ctx, conn.Conn().PgConn()); err == nil {
			return conn, nil
		}
		s.discard(ctx, conn)
		var mapped *scanners.Error
		if !first || !errors.As(err, &mapped) || mapped.Code != scanners.CodeUnreachable {
			return nil, err
		}
		s.pool.Reset()
	}
}

// opening returns the statements that begin a transaction of this mode. With standard_conforming_strings on, the server
// reads the probe's strings as rules/probe did. A connection gets this setting at its start, and also the time zone,
// unless the zone is a plain offset. The server reports both values, and opening sets a value again only if it differs.
func (s *Source) opening(conn *pgconn.PgConn, timeout time.Duration, mode string) []string {
	statements := []string{"BEGIN " + mode, setTimeout(timeout)}
	if conn.ParameterStatus("standard_conforming_strings") != "on" {
		statements = append(statements, "SET LOCAL standard_conforming_strings = on")
	}
	if conn.ParameterStatus("TimeZone") != s.location.String() {
		statements = append(statements, "SET LOCAL TIME ZONE "+s.zone())
	}
	return statements
}

// scan implements transaction. A plain statement takes one round trip.
func (s *Source) scan(ctx context.Context, q *scanStatement) (scanners.Result, error) {
	var asked context.Context
	var pipeline *pgconn.Pipeline
	stop := func() {}
	defer func() { stop() }()
	conn, err := s.open(ctx, q.timeout, func(_ context.Context, conn *pgconn.PgConn) (err error) {
		stop()                                                          // ends the context of the first try, if any
		asked, stop = context.WithTimeout(ctx, q.timeout+deadlineGrace) //nolint:fatcontext // a second one takes the place of the first, whose connection was broken
		pipeline, err = s.send(asked, conn, s.opening(conn, q.timeout, "READ ONLY"), func(to *pgconn.Pipeline) {
			if q.add(to); q.plain {
				to.SendQueryParams("ROLLBACK", nil, nil, nil, nil)
			}
		})
		return err
	})
	if err != nil {
		return scanners.Result{}, err
	}
	// pgx cancels the statement of a context that ends, and closes the connection.
	result, err := q.read(asked, pipeline, stop) //nolint:contextcheck // asked comes of ctx
	status := conn.Conn().PgConn().TxStatus()
	switch {
	case q.plain && status == 'I' && !conn.Conn().IsClosed():
		conn.Release()
		return result, err
	case err == nil && !result.More && status != 'T':
		_ = conn.Conn().Close(ctx)
		err = &scanners.Error{Code: scanners.CodeReadOnly, Err: errors.New("the probe ended its own transaction")}
	}
	s.end(ctx, conn)
	return result, err
}

// send sends the statements of ours, and the statements that add appends, in one round trip. send reads only the
// results of ours.
func (s *Source) send(ctx context.Context, conn *pgconn.PgConn, ours []string, add func(*pgconn.Pipeline)) (*pgconn.Pipeline, error) {
	pipeline := conn.StartPipeline(ctx)
	for _, sql := range ours {
		pipeline.SendQueryParams(sql, nil, nil, nil, nil)
	}
	add(pipeline)
	err := pipeline.Sync()
	for range ours {
		if err == nil {
			_, err = pipeline.GetResults() // ours return no rows
		}
	}
	if err != nil {
		_ = pipeline.Close()
		return nil, s.mapError(ctx, err, "")
	}
	return pipeline, nil
}

// zone returns the source's time zone as SET TIME ZONE takes it. PostgreSQL would invert the sign of a plain offset.
func (s *Source) zone() string {
	name := s.location.String() // a parsed zone contains no quotes
	if s.isOffset() {
		return "INTERVAL '" + name + "' HOUR TO MINUTE"
	}
	return "'" + name + "'"
}

// isOffset tells whether the zone is a plain offset, such as +05:30.
func (s *Source) isOffset() bool { return strings.ContainsAny(s.location.String()[:1], "+-") }

func setTimeout(timeout time.Duration) string {
	return fmt.Sprintf("SET LOCAL statement_timeout = %d", max(timeout.Milliseconds(), 1))
}

// end rolls back, resets the connection and returns it to the pool. If the scan was cut short, the connection is closed
// already, and pgx cancels the statement that still runs on the server.
func (s *Source) end(ctx context.Context, conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if !conn.Conn().IsClosed() {
		if s.execute(ctx, conn.Conn().PgConn(), endSQL) != nil {
			_ = conn.Conn().Close(ctx) // the pool drops a closed connection
		}
	}
	conn.Release()
}

// discard closes the connection instead of returning it to the pool.
func (s *Source) discard(ctx context.Context, conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	_ = conn.Conn().Close(ctx)
	conn.Release()
}

// execute runs our own statements and ignores their results.
func (s *Source) execute(ctx context.Context, conn *pgconn.PgConn, statements string) error {
	if _, err := conn.Exec(ctx, statements).ReadAll(); err != nil {
		return s.mapError(ctx, err, "")
	}
	return nil
}

// query runs one of our own statements, and returns its rows as texts. NULL is "".
func (s *Source) query(ctx context.Context, conn *pgconn.PgConn, sql string, args ...string) ([][]string, error) {
	values := make([][]byte, len(args))
	for i, arg := range args {
		values[i] = []byte(arg)
	}
	result := conn.ExecParams(ctx, sql, values, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, s.mapError(ctx, result.Err, "")
	}
	rows := make([][]string, len(result.Rows))
	for i, row := range result.Rows {
		for _, value := range row {
			rows[i] = append(rows[i], string(value))
		}
	}
	return rows, nil
}

// session is one transaction over one snapshot. Each of its statements runs in a savepoint that is rolled back, so that
// a failed statement does not end the transaction. If the context of a statement ends, the connection is closed, and
// the session is over.
type session struct {
	source *Source
	conn   *pgxpool.Conn // nil after Close
	hidden []string      // OIDs of the database's own tables that staged tables hide
}

var errOver = errors.New("the session is over: it was closed, or a statement in it was cut short")

// Session begins a transaction. The transaction is read-write only until the tables are staged. It is never committed.
func (s *Source) Session(ctx context.Context, staged []scanners.StagedTable) (scanners.Session, error) {
	mode := "READ ONLY"
	if len(staged) > 0 {
		mode = "READ WRITE"
	}
	conn, err := s.start(ctx, s.timeout, "ISOLATION LEVEL REPEATABLE READ "+mode)
	switch {
	case err != nil && len(staged) > 0:
		return nil, cannotStage(&staged[0], err, "a standby holds no temporary tables: use the primary, or run the test without a source")
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
	// The first statement takes the snapshot. After it, PostgreSQL does not let the transaction become read-write again.
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

// Prepare describes the statement. Prepare refuses a statement that would read a table of the database although a table
// is staged for it.
func (x *session) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.PreparedProbe, error) {
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

// begin sets the savepoint that end returns to.
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

// scan implements transaction.
func (x *session) scan(ctx context.Context, q *scanStatement) (scanners.Result, error) {
	conn, err := x.begin(ctx, q.timeout)
	if err != nil {
		return scanners.Result{}, err
	}
	defer x.end(ctx, conn)
	ctx, cancel := context.WithTimeout(ctx, q.timeout+deadlineGrace)
	defer cancel()
	pipeline, err := x.source.send(ctx, conn.Conn().PgConn(), nil, q.add)
	if err != nil {
		return scanners.Result{}, err
	}
	result, err := q.read(ctx, pipeline, func() { // closing the connection would end the session
		if conn.Conn().PgConn().CancelRequest(ctx) != nil {
			cancel()
		}
	})
	if err == nil && !result.More && conn.Conn().PgConn().TxStatus() != 'T' {
		_ = conn.Conn().Close(ctx)
		err = &scanners.Error{Code: scanners.CodeReadOnly, Err: errors.New("the probe ended its own transaction")}
	}
	return result, err
}

//go:embed end_statement.sql
var endStatementSQL string

func (x *session) end(ctx context.Context, conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	for range 2 { // a late cancel request for a statement that has ended may hit this one
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

// bypasses refuses a statement that names a staged table with its schema, or a view over the table: both read the
// database's own table.
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
		Err: fmt.Errorf("%s is the database's own table, not the staged %s", name, table),
	}
	if found[0][2] == "t" {
		e.Err = fmt.Errorf("%s is a view that reads the database's own %s, not the staged one", name, table)
		e.Hint = "stage " + name + " itself"
	}
	return e
}

// relations returns all possible names of tables in the SQL: every name, and every two names with a point between them.
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
