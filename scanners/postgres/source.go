package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tallyman/scanners"
)

// Defaults of Config.
const (
	defaultMaxConnections   = 4
	defaultStatementTimeout = 30 * time.Second
)

// connectTimeout bounds an attempt to connect, unless the URL has connect_timeout.
const connectTimeout = 5 * time.Second

// deadlineGrace is how long the client waits for an answer beyond the server's own timeout.
const deadlineGrace = 2 * time.Second

// Driver declares the driver.
var Driver = scanners.Driver{
	Name: "postgres", Address: "postgres://user@host:5432/database", Wrong: "is no PostgreSQL address",
	IsAddress: scanners.HasDatabase("postgres", "postgresql"), LooksUpFunctions: true,
	Open: func(ctx context.Context, c scanners.Config) (scanners.Source, error) {
		return scanners.Opened(Open(ctx, c))
	},
	Scratch: Scratch,
}

// Config is one configured source. Its URL is postgres://user:password@host:port/database, or a keyword/value string.
type Config = scanners.Config

// Source is a PostgreSQL database.
type Source struct {
	pool     *pgxpool.Pool
	timeout  time.Duration
	limits   scanners.Limits
	password string // kept to remove it from messages
	location *time.Location

	functions scanners.Functions
	known     sync.Map // OIDs of PostgreSQL's own functions that probes may call
}

// Open returns a source. The source connects when it is first used, so Open fails only for a faulty URL. The errors of
// Open never show the URL, because an unreadable part of the URL may be the password.
func Open(ctx context.Context, config Config) (*Source, error) {
	if err := config.CheckURL(); err != nil {
		return nil, err
	}
	poolConfig, err := pgxpool.ParseConfig(config.URL)
	if err != nil {
		return nil, &scanners.Error{
			Code: scanners.CodeUnreachable,
			Hint: "write postgres://user:password@host:port/database; in a password, write # as %23, / as %2F, @ as %40, : as %3A",
			Err:  errors.New("the URL of the source cannot be read"),
		}
	}
	poolConfig.MinConns = 0
	poolConfig.MaxConns = defaultMaxConnections
	if config.MaxConnections > 0 {
		poolConfig.MaxConns = int32(min(config.MaxConnections, 1000))
	}
	s := &Source{timeout: config.StatementTimeout, limits: config.Limits.WithDefaults(), password: poolConfig.ConnConfig.Password, location: config.Zone(), functions: config.Functions}
	poolConfig.ConnConfig.BuildFrontend = newFrontend(s.limits)
	if s.timeout <= 0 {
		s.timeout = defaultStatementTimeout
	}
	if poolConfig.ConnConfig.ConnectTimeout == 0 {
		poolConfig.ConnConfig.ConnectTimeout = connectTimeout
	}
	params := poolConfig.ConnConfig.RuntimeParams
	delete(params, "timezone") // from the environment (PGTZ)
	if !s.isOffset() {
		params["timezone"] = s.location.String() // so that transactions need not set it
	}
	params["standard_conforming_strings"] = "on"
	poolConfig.ConnConfig.OnNotice = hear
	params["client_encoding"] = "UTF8" // independent of the database's own encoding
	if params["application_name"] == "" {
		params["application_name"] = "tallyman"
	}
	s.pool, err = pgxpool.NewWithConfig(ctx, poolConfig)
	if err != nil {
		return nil, s.mapError(ctx, err, "")
	}
	return s, nil
}

// Ping tells whether the database answers.
func (s *Source) Ping(ctx context.Context) error {
	conn, err := s.begin(ctx, s.timeout)
	if err != nil {
		return err
	}
	s.end(ctx, conn)
	return nil
}

// Close waits for running scans and closes every connection.
func (s *Source) Close() error {
	s.pool.Close()
	return nil
}
