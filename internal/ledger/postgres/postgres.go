package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/named"
	"tallyman/internal/ledger/rows"
)

//go:embed sql
var sqlFiles embed.FS

var queries = named.MustParse(sqlFiles, "sql")

const defaultConnections = 8

// The SQLSTATEs that are answers rather than faults.
const (
	foreignKeyViolation = "23503"
	uniqueViolation     = "23505"
	deadlockDetected    = "40P01"
	undefinedTable      = "42P01"
)

// session is what every connection asks of the server. A node that freezes or is cut off in the middle of a commit would
// otherwise keep the rule locked for as long as the server believes in it, whatever its lease says: hours.
var session = map[string]string{
	"application_name":                    "tallyman",
	"idle_in_transaction_session_timeout": "30s",  // the next statement of a transaction follows within milliseconds
	"statement_timeout":                   "6min", // longer than the engine lets a commit take; a COPY whose rows stay away is not ended by it
	"jit":                                 "off",  // statements are short: compiling one takes longer than running it
	"tcp_keepalives_idle":                 "10",
	"tcp_keepalives_interval":             "5",
	"tcp_keepalives_count":                "3",
}

// Ledger is the ledger in PostgreSQL. It is safe for concurrent use.
type Ledger struct {
	pool *pgxpool.Pool
	now  func() time.Time // nil = the server's clock
	step func(string)     // see ledger.Options.Step

	mu     sync.Mutex
	lanes  map[ledger.Lane]int32 // ids, which never change
	queues map[string]int32      // likewise
}

var _ ledger.Ledger = (*Ledger)(nil)

// Open connects to the database with that URL. ErrSchema when its schema is not this program's.
func Open(ctx context.Context, url string, opts ledger.Options) (*Ledger, error) {
	return connect(ctx, url, opts, session)
}

// OpenReadOnly is Open for reading beside the nodes: the server refuses everything that would write.
func OpenReadOnly(ctx context.Context, url string, opts ledger.Options) (*Ledger, error) {
	reading := maps.Clone(session)
	reading["default_transaction_read_only"] = "on"
	return connect(ctx, url, opts, reading)
}

func connect(ctx context.Context, url string, opts ledger.Options, session map[string]string) (*Ledger, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("ledger: the URL: %w", err) // pgx leaves the password out
	}
	cfg.MaxConns = defaultConnections
	if opts.MaxConnections > 0 {
		cfg.MaxConns = int32(min(opts.MaxConnections, 1000))
	}
	cfg.AfterConnect = sessionSetter(session, cfg.ConnConfig.RuntimeParams)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("ledger: connect: %w", err)
	}
	l := &Ledger{pool: pool, now: opts.Now, step: opts.Steps(), lanes: map[ledger.Lane]int32{}, queues: map[string]int32{}}
	if err := l.checkSchema(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return l, nil
}

// sessionSetter sets what the session asks for and the URL says nothing about.
func sessionSetter(session, url map[string]string) func(context.Context, *pgx.Conn) error {
	var names, values []string
	for name, value := range session {
		if url[name] == "" {
			names, values = append(names, name), append(values, value)
		}
	}
	return func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, queries.Get("set-session"), names, values); err != nil {
			return fmt.Errorf("set up the session: %w", err)
		}
		return nil
	}
}

// Ping asks whether the database answers.
func (l *Ledger) Ping(ctx context.Context) error {
	if err := l.pool.Ping(ctx); err != nil {
		return fmt.Errorf("ledger: ping: %w", err)
	}
	return nil
}

// Now implements ledger.Ledger.
func (l *Ledger) Now(ctx context.Context) (time.Time, error) {
	var us int64
	if err := l.pool.QueryRow(ctx, queries.Get("now"), l.clock()).Scan(&us); err != nil {
		return time.Time{}, failed("now", err)
	}
	return rows.Time(us), nil
}

// Close closes the connections, waiting for those in use.
func (l *Ledger) Close() error {
	l.pool.Close()
	return nil
}

// clock is the argument "now" of the queries: nil for the server's clock.
func (l *Ledger) clock() *int64 {
	if l.now == nil {
		return nil
	}
	us := l.now().UnixMicro()
	return &us
}

// exec runs the query by name and returns the number of rows it changed.
func (l *Ledger) exec(ctx context.Context, name string, args ...any) (int64, error) {
	tag, err := l.pool.Exec(ctx, queries.Get(name), args...)
	if err != nil {
		return 0, failed(name, err)
	}
	return tag.RowsAffected(), nil
}

// query runs the query by name and collects its rows.
func query[T any](ctx context.Context, l *Ledger, name string, scan pgx.RowToFunc[T], args ...any) ([]T, error) {
	rows, err := l.pool.Query(ctx, queries.Get(name), args...)
	if err != nil {
		return nil, failed(name, err)
	}
	list, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, failed(name, err)
	}
	return list, nil
}

// inTx runs do in a transaction. It runs do again where the server has ended the transaction, because that one and another waited for each other: so do
// sets anew whatever it sets.
func (l *Ledger) inTx(ctx context.Context, what string, do func(pgx.Tx) error) error {
	if err := again(func() error { return pgx.BeginFunc(ctx, l.pool, do) }); err != nil {
		return failed(what, err)
	}
	return nil
}

// failed says which operation an error belongs to.
func failed(what string, err error) error {
	return fmt.Errorf("ledger: %s: %w", what, err)
}

// hasState tells whether the server answered with the SQLSTATE.
func hasState(err error, state string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == state
}
