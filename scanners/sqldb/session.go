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

// Session is one transaction for several statements: a scanners.Session. It is not safe for concurrent use. A statement whose
// context ends takes the connection with it, and the session is over.
type Session struct {
	held   *heldTransaction
	closed bool
}

// Hold begins a session; start sets the transaction up, as Dialect.Begin does.
func (s *Source) Hold(ctx context.Context, start BeginFunc) (*Session, error) {
	h, err := s.begin(ctx, s.config.StatementTimeout, start)
	if err != nil {
		return nil, err
	}
	return &Session{held: h}, nil
}

// Prepare has the database look at the statement; its scans run in the session.
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

// next makes the session ready for a statement.
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

// heldTransaction is a connection with its transaction.
type heldTransaction struct {
	source *Source
	conn   *sql.Conn
	tx     Transaction
	gone   bool // the connection was closed under the transaction
}

// end rolls back and gives the connection back.
func (h *heldTransaction) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if !h.gone && h.tx.End(ctx) != nil {
		h.gone = true
		drop(h.conn)
	}
	_ = h.conn.Close()
}

// stop ends a statement whose rows are not wanted any more.
func (h *heldTransaction) stop(ctx context.Context, cancel context.CancelFunc, rows *sql.Rows) {
	if ctx.Err() == nil {
		defer time.AfterFunc(endTimeout, cancel).Stop()
		h.tx.Stop(ctx, cancel)
	}
	for rows.Next() { // what was on its way; unlike this, Close would not heed the context
	}
	_ = rows.Close()
}

// cut closes the connection of a statement that was stopped before its end, and stops it on the server too.
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

// drop closes the connection instead of giving it back.
func drop(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// ScanTransaction is the part of a Transaction that databases without sessions share: it runs one scan on a connection that has had no
// other and is closed after it, whatever happens.
type ScanTransaction struct {
	Conn  *sql.Conn
	Wires *Wires // nil in tests
}

// Watch cuts the connection where the driver does not end with the context.
func (t *ScanTransaction) Watch(ctx context.Context) (stop func()) {
	return t.Wires.Watch(ctx, t.Conn, WireGrace)
}

// Next is for sessions, which there are none of.
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

// Stop ends the context, with which the driver ends the statement.
func (t *ScanTransaction) Stop(_ context.Context, cancel context.CancelFunc) { cancel() }

// Abandon has nothing to do: the server rolls back what a closed connection had begun.
func (t *ScanTransaction) Abandon(context.Context) {}
