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
	asideConnections   = 2 // one that hangs leaves another
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
	*store.Store

	pool  *pgxpool.Pool
	aside *pgxpool.Pool // for the sessions of nodes: while all connections of pool are in use, a session must be renewed all the same

	registrations *combine.Calls[*registration]
	claims        *combine.Calls[*claimRequest]
	quiet         *combine.Calls[*quietRun] // commits of runs that have changed nothing
	skips         *combine.Calls[*skippedFiring]
}

var _ ledger.Ledger = (*Ledger)(nil)

// Open connects to the database with that URL. ErrSchema when its schema is not this program's, ErrPooled behind a pooler that shares sessions.
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
	cfg.MaxConns = asideConnections // none is made before a node takes its session
	session = maps.Clone(session)
	session["idle_in_transaction_session_timeout"] = "2s" // a node that freezes while it buries another holds up nobody for long
	cfg.AfterConnect = l.setUp(sessionSetter(session, cfg.ConnConfig.RuntimeParams))
	if l.aside, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		l.pool.Close()
		return nil, fmt.Errorf("ledger: connect: %w", err)
	}
	if err := checkPools(ctx, l.pool, l.aside); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if err := l.checkSchema(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// setUp makes a new connection ready for use.
func (l *Ledger) setUp(set func(context.Context, *pgx.Conn) error) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, conn *pgx.Conn) error {
		if err := set(ctx, conn); err != nil {
			return err
		}
		return l.identify(ctx, conn)
	}
}

// identify asks a new connection which database it leads to, before the connection is used. Another one may be a copy, in which rows have other numbers.
func (l *Ledger) identify(ctx context.Context, conn *pgx.Conn) error {
	var identity string
	if err := conn.QueryRow(ctx, queries.Get("identity"), unprepared).Scan(&identity); err != nil {
		return fmt.Errorf("ask the server who it is: %w", err)
	}
	if l.Servers.Connected(identity) {
		l.ForgetRows()
	}
	return nil
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
		if _, err := conn.Exec(ctx, queries.Get("set-session"), unprepared, names, values); err != nil {
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

// Close closes the connections, waiting for those in use.
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

// migrationLock is the advisory lock of whoever applies the steps.
const migrationLock = 7_403_178_221

func steps() schema.Schema {
	return schema.Schema{Dialect: goose.DialectPostgres, Files: migrationFiles}
}

// Migrate brings the schema to this program's version and returns what was applied. Nodes that do so at
// once wait for each other.
func Migrate(ctx context.Context, url string) ([]ledger.Migration, error) {
	// One try a second for five minutes: the migration of another node may take its time.
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(migrationLock), lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, fmt.Errorf("ledger: migrations: %w", err)
	}
	return withDB(ctx, url, func(db *sql.DB) ([]ledger.Migration, error) {
		applied, err := steps().Up(ctx, db, goose.WithSessionLocker(locker))
		if err != nil {
			return nil, err
		}
		return applied, onConn(ctx, db, func(conn *pgx.Conn) error { return makeDays(ctx, conn, nil) })
	})
}

// Status returns every migration that this program knows, in order, with when it was applied.
func Status(ctx context.Context, url string) ([]ledger.Migration, error) {
	return withDB(ctx, url, func(db *sql.DB) ([]ledger.Migration, error) { return steps().Status(ctx, db) })
}

// withDB opens the database as goose wants it, and closes it after.
func withDB(ctx context.Context, url string, do func(*sql.DB) ([]ledger.Migration, error)) ([]ledger.Migration, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("ledger: the URL: %w", err)
	}
	followPrimary(cfg)
	db := stdlib.OpenDB(*cfg)
	if err := checkDB(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	list, err := do(db)
	return list, errors.Join(err, db.Close())
}

// Version returns the version of the schema, 0 for none.
func (l *Ledger) Version(ctx context.Context) (int64, error) {
	var v int64
	err := l.pool.QueryRow(ctx, queries.Get("version")).Scan(&v)
	if err != nil && !hasState(err, undefinedTable) {
		return 0, failed("version", err)
	}
	return v, nil
}

func (l *Ledger) checkSchema(ctx context.Context) error {
	have, err := l.Version(ctx)
	if err != nil {
		return err
	}
	return steps().Check(have)
}
