package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"tallyman/internal/combine"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/schema"
	"tallyman/internal/ledger/store"
)

//go:embed sql
var sqlFiles embed.FS

const (
	defaultConnections = 8
	asideConnections   = 2 // if one hangs, the other still works
)

// session has the settings of every connection. A node that freezes or is cut off in the middle of a commit holds the
// lock of the rule. Without these timeouts the server would keep that lock for hours, whatever the lease says.
var session = map[string]string{
	"application_name":                    "tallyman",
	"idle_in_transaction_session_timeout": "30s", // the next statement of a transaction follows within milliseconds
	// The timeout is longer than the engine's timeout for a commit. It does not end a COPY that waits for rows.
	"statement_timeout": "6min",
	// All statements are short; compiling one takes longer than running it.
	"jit":                     "off",
	"tcp_keepalives_idle":     "10",
	"tcp_keepalives_interval": "5",
	"tcp_keepalives_count":    "3",
}

// Ledger is the ledger in PostgreSQL. Ledger is safe for concurrent use.
type Ledger struct {
	*store.Store

	pool *pgxpool.Pool
	// aside is for the sessions of nodes. A node must renew its session even while all connections of pool are in use.
	aside *pgxpool.Pool

	registrations *combine.Calls[*registration]
	claims        *combine.Calls[*claimRequest]
	quiet         *combine.Calls[*quietRun] // commits of runs that changed nothing
	skips         *combine.Calls[*skippedFiring]
}

var _ ledger.Ledger = (*Ledger)(nil)

// Open connects to the database at the URL. ErrSchema if its schema is not at this program's version; ErrPooled
// behind a pooler that shares sessions.
func Open(ctx context.Context, url string, opts ledger.Options) (*Ledger, error) {
	return connect(ctx, url, opts, session)
}

// OpenReadOnly is Open for reading while nodes write: the server refuses every write.
func OpenReadOnly(ctx context.Context, url string, opts ledger.Options) (*Ledger, error) {
	reading := maps.Clone(session)
	reading["default_transaction_read_only"] = "on"
	return connect(ctx, url, opts, reading)
}

func connect(ctx context.Context, url string, opts ledger.Options, session map[string]string) (*Ledger, error) {
	cfg, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = defaultConnections
	if opts.MaxConnections > 0 {
		cfg.MaxConns = int32(min(opts.MaxConnections, 1000))
	}
	l := &Ledger{}
	l.Store = store.New(engine{l}, opts)
	l.registrations = together(l.registerTogether, func(_, _ *registration) bool { return true })
	l.claims = together(l.claimTogether, (*claimRequest).isLike)
	l.quiet = together(l.commitTogether, func(_, _ *quietRun) bool { return true })
	l.skips = together(l.skipTogether, func(_, _ *skippedFiring) bool { return true })
	cfg.AfterConnect = l.setUp(sessionSetter(session, cfg.ConnConfig.RuntimeParams))
	if l.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, fmt.Errorf("ledger: connect: %w", err)
	}
	cfg = cfg.Copy()
	cfg.MaxConns = asideConnections // opened only when a node takes its session
	session = maps.Clone(session)
	// A node that freezes while it buries another must not hold locks for long.
	session["idle_in_transaction_session_timeout"] = "2s"
	cfg.AfterConnect = l.setUp(sessionSetter(session, cfg.ConnConfig.RuntimeParams))
	if l.aside, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		l.pool.Close()
		return nil, fmt.Errorf("ledger: connect: %w", err)
	}
	if err := checkPools(ctx, l.pool, l.aside); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if err := l.CheckSchema(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// setUp returns a function that prepares a new connection.
func (l *Ledger) setUp(set func(context.Context, *pgx.Conn) error) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, conn *pgx.Conn) error {
		if err := set(ctx, conn); err != nil {
			return err
		}
		return l.identify(ctx, conn)
	}
}

// identify finds out which database a new connection leads to, before the connection is used. Another database may be
// a copy, in which rows have other numbers.
func (l *Ledger) identify(ctx context.Context, conn *pgx.Conn) error {
	var identity string
	if err := conn.QueryRow(ctx, queries.Get("identity"), unprepared).Scan(&identity); err != nil {
		return fmt.Errorf("identify the server: %w", err)
	}
	if l.Servers.Connected(identity) {
		l.ForgetRows()
	}
	return nil
}

// sessionSetter returns a function that sets the settings of session, except settings that the URL has.
func sessionSetter(session, url map[string]string) func(context.Context, *pgx.Conn) error {
	var names, values []string
	for name, value := range session {
		if url[name] == "" {
			names, values = append(names, name), append(values, value)
		}
	}
	return func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, queries.Get("set-session"), unprepared, names, values); err != nil {
			return fmt.Errorf("set up the session: %w", err)
		}
		return nil
	}
}

// Ping checks that the database answers.
func (l *Ledger) Ping(ctx context.Context) error {
	if err := l.pool.Ping(ctx); err != nil {
		return fmt.Errorf("ledger: ping: %w", err)
	}
	return nil
}

// Close closes all connections. Close waits until they are free.
func (l *Ledger) Close() error {
	l.registrations.Rest()
	l.claims.Rest()
	l.quiet.Rest()
	l.skips.Rest()
	l.pool.Close()
	l.aside.Close()
	return nil
}

//go:embed migrations
var migrationFiles embed.FS

// migrationLock is the advisory lock that a process holds while it migrates the schema.
const migrationLock = 7_403_178_221

func steps() schema.Schema {
	return schema.Schema{Dialect: goose.DialectPostgres, Files: migrationFiles}
}

// Migrate brings the schema to this program's version and returns the applied migrations. Nodes that migrate at the
// same time wait for each other.
func Migrate(ctx context.Context, url string) ([]ledger.Migration, error) {
	return migrate(ctx, url, steps().Up)
}

// Expand is Migrate without the contract migrations that this program can do without.
func Expand(ctx context.Context, url string) ([]ledger.Migration, error) {
	return migrate(ctx, url, steps().Expand)
}

func migrate(ctx context.Context, url string, up schema.Migrate) ([]ledger.Migration, error) {
	// One try per second for five minutes, because the migration of another node may take long.
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(migrationLock), lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, fmt.Errorf("ledger: migrations: %w", err)
	}
	return withDB(ctx, url, func(db *sql.DB) ([]ledger.Migration, error) {
		applied, err := up(ctx, db, goose.WithSessionLocker(locker))
		if err != nil {
			return nil, err
		}
		return applied, onConn(ctx, db, func(conn *pgx.Conn) error { return makeDays(ctx, conn, nil) })
	})
}

// Status returns every migration of this program, in order, with the time when it was applied. It only reads.
func Status(ctx context.Context, url string) ([]ledger.Migration, error) {
	return withDB(ctx, url, func(db *sql.DB) ([]ledger.Migration, error) { return steps().Status(ctx, db) })
}

// LiveNodes returns name and version of the nodes whose sessions are in force, by name, whatever the version of the
// schema. A database without a ledger has none. It only reads.
func LiveNodes(ctx context.Context, url string) ([]ledger.Node, error) {
	return withDB(ctx, url, func(db *sql.DB) (live []ledger.Node, _ error) {
		err := onConn(ctx, db, func(conn *pgx.Conn) error {
			var n ledger.Node
			rows, _ := conn.Query(ctx, queries.Get("live-nodes")) // ForEachRow returns the error.
			_, err := pgx.ForEachRow(rows, []any{&n.Name, &n.Version}, func() error {
				live = append(live, n)
				return nil
			})
			return err
		})
		if err != nil && !hasState(err, undefinedTable) {
			return nil, failed("live nodes", err)
		}
		return live, nil
	})
}

// withDB opens the database in the form that goose needs, calls do and closes it.
func withDB[T any](ctx context.Context, url string, do func(*sql.DB) ([]T, error)) ([]T, error) {
	cfg, err := parseConnURL(url)
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*cfg)
	if err := checkDB(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	list, err := do(db)
	return list, errors.Join(err, db.Close())
}

// Version returns the version of the schema; 0 = no schema.
func (l *Ledger) Version(ctx context.Context) (int64, error) {
	var v int64
	err := l.pool.QueryRow(ctx, queries.Get("version")).Scan(&v)
	if err != nil && !hasState(err, undefinedTable) {
		return 0, failed("version", err)
	}
	return v, nil
}

// CheckSchema implements ledger.Server.
func (l *Ledger) CheckSchema(ctx context.Context) error {
	have, err := l.Version(ctx)
	if err != nil {
		return err
	}
	var oldest int64
	if err := l.pool.QueryRow(ctx, queries.Get("oldest")).Scan(&oldest); err != nil && !hasState(err, undefinedTable) {
		return failed("the oldest version", err)
	}
	return steps().Check(have, oldest)
}
