package sqldb

import (
	"context"
	"errors"
	"time"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// Session is one transaction for several statements: a scanners.Session. It is not safe for concurrent use.
type Session struct {
	held   *held
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
func (s *Session) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.Prepared, error) {
	if err := s.usable(); err != nil {
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
	if err := s.usable(); err != nil {
		return scanners.Result{}, err
	}
	return s.held.scan(ctx, p, args, timeout, maxRows, visit)
}

func (s *Session) usable() error {
	if s.closed || s.held.gone {
		return &scanners.Error{Code: scanners.CodeFailed, Err: errors.New("the session is over")}
	}
	return nil
}
