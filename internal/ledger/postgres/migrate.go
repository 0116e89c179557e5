package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"tallyman/internal/ledger"
)

//go:embed migrations
var migrationFiles embed.FS

// schemaTable is where the migrations are recorded, and migrationLock the advisory lock of whoever applies them.
const (
	schemaTable   = "ledger_schema"
	migrationLock = 7_403_178_221
)

// Migrate brings the schema to this program's version and returns what was applied. Nodes that do so at
// once wait for each other.
func Migrate(ctx context.Context, url string) ([]ledger.Migration, error) {
	var applied []ledger.Migration
	err := withProvider(url, func(p *goose.Provider) error {
		results, err := p.Up(ctx)
		if err != nil {
			return fmt.Errorf("ledger: migrate: %w", err)
		}
		for _, r := range results {
			applied = append(applied, ledger.Migration{
				Version: r.Source.Version, Name: r.Source.Path, Applied: time.Now().UTC(),
			})
		}
		return nil
	})
	return applied, err
}

// Status returns every migration that this program knows, in order, with when it was applied.
func Status(ctx context.Context, url string) ([]ledger.Migration, error) {
	var list []ledger.Migration
	err := withProvider(url, func(p *goose.Provider) error {
		status, err := p.Status(ctx)
		if err != nil {
			return fmt.Errorf("ledger: migration status: %w", err)
		}
		for _, s := range status {
			list = append(list, ledger.Migration{Version: s.Source.Version, Name: s.Source.Path, Applied: s.AppliedAt})
		}
		return nil
	})
	return list, err
}

// withProvider opens the database as goose wants it, and closes it after.
func withProvider(url string, do func(*goose.Provider) error) error {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("ledger: the URL: %w", err)
	}
	db := stdlib.OpenDB(*cfg)
	p, err := newProvider(db)
	if err == nil {
		err = do(p)
	}
	if cerr := db.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("ledger: migrate: %w", cerr)
	}
	return err
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, fmt.Errorf("ledger: migrations: %w", err)
	}
	// One try a second for five minutes: the migration of another node may take its time.
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(migrationLock), lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, fmt.Errorf("ledger: migrations: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker),
		goose.WithTableName(schemaTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("ledger: migrations: %w", err)
	}
	return p, nil
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
	want, err := target()
	if err != nil {
		return err
	}
	if have != want {
		return fmt.Errorf("%w (it is at version %d, the program wants %d)", ledger.ErrSchema, have, want)
	}
	return nil
}

// target is the version of the last migration that is built in.
func target() (int64, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return 0, fmt.Errorf("ledger: migrations: %w", err)
	}
	if len(names) == 0 {
		return 0, errors.New("ledger: no migrations are built in")
	}
	return goose.NumericComponent(names[len(names)-1])
}
