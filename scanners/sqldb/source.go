package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// Defaults of Config.
const (
	defaultMaxConnections   = 4
	defaultStatementTimeout = 30 * time.Second
	defaultConnectTimeout   = 5 * time.Second
)

// endTimeout bounds the clean-up after a scan.
const endTimeout = 5 * time.Second

// Config is one source.
type Config struct {
	Dialect   Dialect
	Connector driver.Connector
	// MaxConnections bounds the scans at once; others wait. 0 = 4.
	MaxConnections int
	// Idle is how many connections are kept between scans; 0 = none, so that nothing can stick to one.
	Idle int
	// StatementTimeout is for a scan without a timeout of its own, and for Prepare. 0 = 30s.
	StatementTimeout time.Duration
	// ConnectTimeout bounds a connection attempt. 0 = 5s.
	ConnectTimeout time.Duration
	// Grace is how long after the server's own timeout the client gives up; 0 where the server has none.
	Grace time.Duration
	// Secrets are taken out of messages.
	Secrets []string
	Limits  scanners.Limits
	// Ahead is how many rows a driver reads before it hands over the first of them; 0 = 1. They may be so many times as large as
	// Limits allow one to be, all together.
	Ahead int
}

// Source is a database behind database/sql.
type Source struct {
	config Config
	db     *sql.DB
	wires  *Wires // nil where the connector has none
}

// New makes a source. It connects when it is first used.
func New(config Config) *Source {
	if config.MaxConnections <= 0 {
		config.MaxConnections = defaultMaxConnections
	}
	if config.StatementTimeout <= 0 {
		config.StatementTimeout = defaultStatementTimeout
	}
	if config.ConnectTimeout <= 0 {
		config.ConnectTimeout = defaultConnectTimeout
	}
	config.Limits = config.Limits.WithDefaults()
	s := &Source{config: config, db: sql.OpenDB(&boundedConnector{Connector: config.Connector, timeout: config.ConnectTimeout})}
	s.wires, _ = config.Connector.(*Wires)
	s.db.SetMaxOpenConns(config.MaxConnections)
	s.db.SetMaxIdleConns(config.Idle)
	return s
}

// Ping tells whether the database answers.
func (s *Source) Ping(ctx context.Context) error {
	h, err := s.begin(ctx, s.config.StatementTimeout, s.config.Dialect.Begin)
	if err != nil {
		return err
	}
	h.end(ctx)
	return nil
}

// Do has look use a transaction of its own, for questions of ours such as those about the catalogue. What the server refuses in it is
// CodeFailed, unless it has a code of its own.
func (s *Source) Do(ctx context.Context, look func(ctx context.Context, tx Transaction) error) error {
	h, err := s.begin(ctx, s.config.StatementTimeout, s.config.Dialect.Begin)
	if err != nil {
		return err
	}
	defer h.end(ctx)
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, s.config.StatementTimeout+s.config.Grace)
	defer cancel()
	if err := look(ctx, h.tx); err != nil {
		if ctx.Err() != nil {
			h.cut(outer)
		}
		return s.mapError(ctx, err, scanners.CodeFailed)
	}
	return nil
}

// Close waits for the scans that run.
func (s *Source) Close() error { return s.db.Close() }

// BeginFunc is Dialect.Begin, or a method that takes its place for a session.
type BeginFunc func(ctx context.Context, conn *sql.Conn, timeout time.Duration) (Transaction, error)

// begin takes a connection and starts a transaction on it. It waits for a free connection as long as a statement may take,
// and then for the database to accept one. A pooled connection that turns out to be dead is no reason to fail: the pool is
// emptied and one more is tried.
func (s *Source) begin(ctx context.Context, timeout time.Duration, start BeginFunc) (*heldTransaction, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout+s.config.ConnectTimeout)
	defer cancel()
	for first := true; ; first = false {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			mapped := s.mapError(ctx, err, scanners.CodeUnreachable)
			if mapped.Code == scanners.CodeTimeout {
				mapped.Hint = "every connection of the source may be in use: see max_connections"
			}
			return nil, mapped
		}
		tx, err := start(ctx, conn, timeout)
		if err == nil {
			return &heldTransaction{source: s, conn: conn, tx: tx}, nil
		}
		drop(conn)
		mapped := s.mapError(ctx, err, scanners.CodeFailed)
		if !first || s.config.Idle == 0 || mapped.Code != scanners.CodeUnreachable {
			return nil, mapped
		}
		s.db.SetMaxIdleConns(0)
		s.db.SetMaxIdleConns(s.config.Idle)
	}
}

// Dialect is what one kind of database does its own way. It is safe for concurrent use.
type Dialect interface {
	// Style is how the database writes parameters.
	Style() probe.Style
	// Begin makes the connection ready and starts a transaction on it that cannot write, in which no statement runs longer
	// than the timeout where the server has a timeout of its own.
	Begin(ctx context.Context, conn *sql.Conn, timeout time.Duration) (Transaction, error)
	// Bind makes of a parameter's value what the driver sends.
	Bind(v row.Value) (any, error)
	// Answer judges an error that came from the server; nil where it did not. Code is what an error comes to that has no
	// code of its own: the statement's fault while it is prepared, the data's while it runs.
	Answer(err error, code scanners.Code) *scanners.Error
}

// Transaction is one transaction on one connection. It is not safe for concurrent use.
type Transaction interface {
	// Next makes the session as it was before its first statement, for one more that runs no longer than the timeout. It is for sessions
	// only, which have several.
	Next(ctx context.Context, timeout time.Duration) error
	// Describe has the database look at the statement, without running it, and returns the columns of its result.
	Describe(ctx context.Context, stmt *probe.Statement, sql string) ([]Column, error)
	// Query runs a statement. The caller closes the rows and then calls free.
	Query(ctx context.Context, sql string, args []any) (rows *sql.Rows, free func(), err error)
	// Stop makes the server give up the statement that runs, whose rows are not wanted any more. Where that is not possible, or only
	// with the connection, it calls cancel, which ends the context of Query.
	Stop(ctx context.Context, cancel context.CancelFunc)
	// End rolls back and leaves the connection as if nothing had been on it. After an error the connection is closed.
	End(ctx context.Context) error
	// Abandon ends what still runs on the server. It is called after a statement's context has ended and its connection was closed.
	Abandon(ctx context.Context)
}

// Column is a column as the database describes it; its name may be in any case.
type Column struct {
	row.Column
	Convert Convert
	Most    int // bytes that a value of the column may have, as the database describes it; 0 = any number, or not known
}

// Convert makes a value of what the driver returns for a column, which is not nil. A []byte is the driver's: what is kept
// of it goes through Texts.
type Convert func(dst *row.Value, src any, texts *Texts) error

// Texts holds the texts of one row, in memory that is used again for the next.
type Texts struct{ buffer []byte }

// mapError names what went wrong. The error of a context that ended can be found with errors.Is; a driver's error is kept as
// its text only, without the secrets of the configuration. code is for what the server reports without a code of ours.
func (s *Source) mapError(ctx context.Context, err error, code scanners.Code) *scanners.Error {
	if mapped, ok := errors.AsType[*scanners.Error](err); ok {
		return mapped
	}
	cause := ctx.Err()
	if errors.Is(cause, context.Canceled) || errors.Is(err, context.Canceled) {
		return &scanners.Error{Code: scanners.CodeFailed, Transient: true, Err: context.Canceled}
	}
	if answer := s.config.Dialect.Answer(err, code); answer != nil {
		return answer
	}
	if errors.Is(cause, context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return &scanners.Error{
			Code: scanners.CodeTimeout, Transient: true,
			Err: fmt.Errorf("the database did not answer in time: %w", context.DeadlineExceeded),
		}
	}
	return &scanners.Error{Code: scanners.CodeUnreachable, Transient: true, Err: errors.New(s.redact(err.Error()))}
}

// redact takes secrets and line breaks out of a driver's words.
func (s *Source) redact(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, secret := range s.config.Secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}

// Verdict is what an error of a database comes to, by its number.
type Verdict struct {
	Code      scanners.Code
	Transient bool
	Hint      string
}

// The verdicts that every database has.
var (
	Away       = Verdict{Code: scanners.CodeUnreachable, Transient: true} // the server, the network or the access to them
	Again      = Verdict{Code: scanners.CodeFailed, Transient: true}      // another try may succeed
	Writes     = Verdict{Code: scanners.CodeReadOnly, Hint: "a probe only reads; it may call a function that writes"}
	NotGranted = Verdict{Code: scanners.CodeStatement, Hint: "the source's user needs SELECT on what the probe reads"}
)

// Apply makes the error that a scan ends with of the database's own.
func (v Verdict) Apply(err error) *scanners.Error {
	return &scanners.Error{Code: v.Code, Transient: v.Transient, Hint: v.Hint, Err: err}
}

// Refuse returns the first of the faults that a database's own reading of the statement found, as an error; nil where there is none.
func Refuse(stmt *probe.Statement, faults []probe.Fault) error {
	if len(faults) == 0 {
		return nil
	}
	f := faults[0]
	before := []rune(stmt.Text)[:f.Offset]
	return &scanners.Error{
		Code: scanners.CodeStatement, Hint: f.Hint, At: f.Offset + 1,
		Err: fmt.Errorf("%s (line %d of the probe)", f.Message, 1+strings.Count(string(before), "\n")),
	}
}
