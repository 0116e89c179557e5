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

// Config is the configuration of one source.
type Config struct {
	Dialect   Dialect
	Connector driver.Connector
	// MaxConnections bounds how many scans run at once; others wait. 0 means 4.
	MaxConnections int
	// Idle is how many connections are kept between scans. 0 means none, so that no scan can leave anything in a
	// connection.
	Idle int
	// StatementTimeout is the timeout of Prepare, and of a scan without a timeout of its own. 0 means 30 s.
	StatementTimeout time.Duration
	// ConnectTimeout bounds an attempt to connect. 0 means 5 s.
	ConnectTimeout time.Duration
	// Grace is how long the client waits beyond the server's own timeout. Grace is 0 if the server has no timeout.
	Grace time.Duration
	// Secrets are removed from messages.
	Secrets []string
	Limits  scanners.Limits
	// Ahead is how many rows the driver reads before it returns the first of them; 0 means 1. Together these rows may
	// have Ahead times the bytes that Limits allows for one row.
	Ahead int
}

// Source is a database behind database/sql.
type Source struct {
	config Config
	db     *sql.DB
	wires  *Wires // nil if the connector is not a Wires
}

// New returns a source. The source connects when it is first used.
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

// Do calls look with a new transaction, for queries that belong to no probe, such as queries of the catalogue. An error
// of the server is CodeFailed, unless the Dialect gives the error another code.
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

// Close closes the idle connections. A running scan goes on, and its connection is closed when the scan ends.
func (s *Source) Close() error { return s.db.Close() }

// BeginFunc is Dialect.Begin, or the method that replaces it for a session.
type BeginFunc func(ctx context.Context, conn *sql.Conn, timeout time.Duration) (Transaction, error)

// begin takes a connection and starts a transaction on it. In all, begin waits at most for the timeout of the statement
// plus the timeout to connect. If a pooled connection is dead, begin empties the pool and tries once more.
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

// Dialect is the part of a driver that differs between databases. Dialect is safe for concurrent use.
type Dialect interface {
	// Style is how the database writes parameters.
	Style() probe.Style
	// Begin prepares the connection and starts a read-only transaction on it. If the server has a statement timeout, no
	// statement runs longer than timeout.
	Begin(ctx context.Context, conn *sql.Conn, timeout time.Duration) (Transaction, error)
	// Bind converts the value of a parameter to the value that the driver sends.
	Bind(v row.Value) (any, error)
	// Answer judges an error that came from the server, and returns nil for any other error. code is for errors to
	// which the Dialect gives no code: CodeUnreachable while the source connects, CodeStatement while a statement is
	// prepared, CodeStage while a table is staged, and CodeFailed otherwise.
	Answer(err error, code scanners.Code) *scanners.Error
}

// Transaction is one transaction on one connection. Transaction is not safe for concurrent use.
type Transaction interface {
	// Next resets the session to its state before the first statement, for a new statement that runs no longer than
	// timeout. Only a Session calls Next, because a Session has several statements.
	Next(ctx context.Context, timeout time.Duration) error
	// Describe returns the columns of the statement's result, without running the statement.
	Describe(ctx context.Context, stmt *probe.Statement, sql string) ([]Column, error)
	// Query runs a statement. The caller closes the rows, and then calls free.
	Query(ctx context.Context, sql string, args []any) (rows *sql.Rows, free func(), err error)
	// Stop makes the server end the running statement, whose remaining rows are not needed. If that is not possible, or
	// only by closing the connection, Stop calls cancel, which ends the context of Query.
	Stop(ctx context.Context, cancel context.CancelFunc)
	// End rolls back and resets the connection. If End returns an error, the connection is closed.
	End(ctx context.Context) error
	// Abandon ends what still runs on the server. Abandon is called after the context of a statement has ended and its
	// connection was closed.
	Abandon(ctx context.Context)
}

// Column is a column as the database describes it. Its name may have upper-case and lower-case letters.
type Column struct {
	row.Column
	Convert Convert
	Most    int // the most bytes that a value can have, by its type; 0 means no limit, or not known
}

// Convert makes a row value from a driver's value, which is not nil. A []byte belongs to the driver, so Convert must
// copy it with Texts to keep it.
type Convert func(dst *row.Value, src any, texts *Texts) error

// Texts holds the texts of one row, in memory that the next row uses again.
type Texts struct{ buffer []byte }

// mapError turns an error into a scanners.Error. After a cancellation, and after a timeout that the server did not
// report itself, errors.Is finds the context's error in the result. mapError keeps only the text of a driver's error,
// without the secrets of the configuration. code is for errors of the server to which the Dialect gives no code.
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

// redact removes secrets and line breaks from a driver's text.
func (s *Source) redact(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, secret := range s.config.Secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}

// Verdict is how an error of a database is judged, by its number.
type Verdict struct {
	Code      scanners.Code
	Transient bool
	Hint      string
}

// The verdicts that all databases share.
var (
	// Away means that the server, the network or the login is unavailable.
	Away       = Verdict{Code: scanners.CodeUnreachable, Transient: true}
	Again      = Verdict{Code: scanners.CodeFailed, Transient: true} // another try may succeed
	Writes     = Verdict{Code: scanners.CodeReadOnly, Hint: "a probe may only read; perhaps the probe calls a function that writes"}
	NotGranted = Verdict{Code: scanners.CodeStatement, Hint: "the source's user needs SELECT on what the probe reads"}
)

// Apply returns the error of a scan for an error of the database.
func (v Verdict) Apply(err error) *scanners.Error {
	return &scanners.Error{Code: v.Code, Transient: v.Transient, Hint: v.Hint, Err: err}
}

// Refuse returns the first fault as an error, or nil if there is no fault. The faults come from the check for this kind
// of database, such as probe.MySQL.
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
