package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

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
	// Grace is how long after the server's own clock the client gives up; 0 where the server has none.
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
	s := &Source{config: config, db: sql.OpenDB(&connector{Connector: config.Connector, timeout: config.ConnectTimeout})}
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
func (s *Source) begin(ctx context.Context, timeout time.Duration, start BeginFunc) (*held, error) {
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
			return &held{source: s, conn: conn, tx: tx}, nil
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
