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
