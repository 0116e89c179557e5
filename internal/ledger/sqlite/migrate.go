package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"

	"github.com/pressly/goose/v3"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/schema"
)

//go:embed migrations
var migrationFiles embed.FS

func steps() schema.Schema {
	return schema.Schema{Dialect: goose.DialectSQLite3, Files: migrationFiles}
}

// Migrate makes the file if it is not there, brings its schema to this program's version and returns what was
// applied. ErrInUse while a process has it open.
func Migrate(ctx context.Context, path string) ([]ledger.Migration, error) {
	return withDB(path, func(db *sql.DB) ([]ledger.Migration, error) { return steps().Up(ctx, db) })
}

// Status returns every migration that this program knows, in order, with when it was applied. ErrInUse while
// a process has the file open: then it is at that process' version.
func Status(ctx context.Context, path string) ([]ledger.Migration, error) {
	return withDB(path, func(db *sql.DB) ([]ledger.Migration, error) { return steps().Status(ctx, db) })
}

// withDB opens the file as goose wants it, and closes it after.
func withDB(path string, do func(*sql.DB) ([]ledger.Migration, error)) ([]ledger.Migration, error) {
	lock, err := lockFile(path)
	if err != nil {
		return nil, err
	}
	db, err := openWriter(path)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	list, err := do(db)
	return list, errors.Join(err, db.Close(), lock.release())
}

// Version returns the version of the schema, 0 for none.
func (l *Ledger) Version(ctx context.Context) (int64, error) {
	var tables, v int64
	if _, err := one(ctx, l.read, "has-schema", nil, &tables); err != nil {
		return 0, failed("version", err)
	}
	if tables == 0 {
		return 0, nil
	}
	if _, err := one(ctx, l.read, "version", nil, &v); err != nil {
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
