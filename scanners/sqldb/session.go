package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// Session is a scanners.Session: one transaction for several statements. Session is not safe for concurrent use. If the
// context of a statement ends, the connection is closed, and the session is over.
type Session struct {
	held   *heldTransaction
	closed bool
}

// Hold begins a session. start sets the transaction up, as Dialect.Begin does.
func (s *Source) Hold(ctx context.Context, start BeginFunc) (*Session, error) {
	h, err := s.begin(ctx, s.config.StatementTimeout, start)
	if err != nil {
		return nil, err
	}
	return &Session{held: h}, nil
}

// Prepare describes the statement. Scans of the prepared statement run in the session.
func (s *Session) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.PreparedProbe, error) {
	if err := s.next(ctx, s.held.source.config.StatementTimeout); err != nil {
		return nil, err
	}
	p, err := s.held.prepare(ctx, stmt)
	if err != nil {
		return nil, err
	}
	p.session = s
	return p, nil
}

// Close rolls the transaction back.
func (s *Session) Close() error {
	if !s.closed {
		s.closed = true
		s.held.end(context.Background())
	}
	return nil
}

func (s *Session) scan(
	ctx context.Context, p *prepared, args []any, timeout time.Duration, maxRows int, visit func(*row.Row) error,
) (scanners.Result, error) {
	if err := s.next(ctx, timeout); err != nil {
		return scanners.Result{}, err
	}
	return s.held.scan(ctx, p, args, timeout, maxRows, visit)
}

// next prepares the session for a new statement.
func (s *Session) next(ctx context.Context, timeout time.Duration) error {
	if s.closed || s.held.gone {
		return &scanners.Error{Code: scanners.CodeFailed, Err: errOver}
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	if err := s.held.tx.Next(ctx, timeout); err != nil {
		s.held.cut(outer)
		return s.held.source.mapError(ctx, err, scanners.CodeFailed)
	}
	return nil
}

var errOver = errors.New("the session is over: it was closed, or a statement in it was cut short")

// heldTransaction is a connection with an open transaction.
type heldTransaction struct {
	source *Source
	conn   *sql.Conn
	tx     Transaction
	gone   bool // the connection was closed before the transaction ended
}

// end rolls back and returns the connection to the pool.
func (h *heldTransaction) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if !h.gone && h.tx.End(ctx) != nil {
		h.gone = true
		drop(h.conn)
	}
	_ = h.conn.Close()
}

// stop ends a statement whose remaining rows are not needed.
func (h *heldTransaction) stop(ctx context.Context, cancel context.CancelFunc, rows *sql.Rows) {
	if ctx.Err() == nil {
		defer time.AfterFunc(endTimeout, cancel).Stop()
		h.tx.Stop(ctx, cancel)
	}
	// Read the rows that are on their way. Next stops when the context ends; Close would not.
	for rows.Next() {
	}
	_ = rows.Close()
}

// cut closes the connection of a statement that did not end, and stops the statement on the server.
func (h *heldTransaction) cut(ctx context.Context) {
	if h.gone {
		return
	}
	h.gone = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	drop(h.conn)
	h.tx.Abandon(ctx)
}

// drop closes the connection instead of returning it to the pool.
func drop(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// ScanTransaction is the common part of the Transaction of databases without sessions. ScanTransaction runs one scan on
// a new connection, which is closed after the scan in any case.
type ScanTransaction struct {
	Conn  *sql.Conn
	Wires *Wires // nil in tests
}

// Watch cuts the connection if the driver does not return after the context has ended.
func (t *ScanTransaction) Watch(ctx context.Context) (stop func()) {
	return t.Wires.Watch(ctx, t.Conn, WireGrace)
}

// Next returns an error, because there are no sessions.
func (t *ScanTransaction) Next(context.Context, time.Duration) error { return errNoSessions }

var errNoSessions = errors.New("the database has no sessions here")

// Query runs the statement.
func (t *ScanTransaction) Query(ctx context.Context, text string, args []any) (*sql.Rows, func(), error) {
	stop := t.Watch(ctx)
	rows, err := t.Conn.QueryContext(ctx, text, args...)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return rows, stop, nil
}

// Stop ends the context. The driver then ends the statement.
func (t *ScanTransaction) Stop(_ context.Context, cancel context.CancelFunc) { cancel() }

// Abandon does nothing: the server rolls back the transaction of a closed connection.
func (t *ScanTransaction) Abandon(context.Context) {}
