package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/schema"
)

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
	return withDB(url, func(db *sql.DB) ([]ledger.Migration, error) {
		return steps().Up(ctx, db, goose.WithSessionLocker(locker))
	})
}

// Status returns every migration that this program knows, in order, with when it was applied.
func Status(ctx context.Context, url string) ([]ledger.Migration, error) {
	return withDB(url, func(db *sql.DB) ([]ledger.Migration, error) { return steps().Status(ctx, db) })
}

// withDB opens the database as goose wants it, and closes it after.
func withDB(url string, do func(*sql.DB) ([]ledger.Migration, error)) ([]ledger.Migration, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("ledger: the URL: %w", err)
	}
	db := stdlib.OpenDB(*cfg)
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
