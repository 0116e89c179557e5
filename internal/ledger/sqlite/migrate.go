package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"

	"tallyman/internal/ledger"
)

//go:embed migrations
var migrationFiles embed.FS

// schemaTable is where the migrations are recorded.
const schemaTable = "ledger_schema"

// Migrate makes the file if it is not there, brings its schema to this program's version and returns what was
// applied. ErrInUse while a process has it open.
func Migrate(ctx context.Context, path string) ([]ledger.Migration, error) {
	var applied []ledger.Migration
	err := withProvider(path, func(p *goose.Provider) error {
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

// Status returns every migration that this program knows, in order, with when it was applied. ErrInUse while
// a process has the file open: then it is at that process' version.
func Status(ctx context.Context, path string) ([]ledger.Migration, error) {
	var list []ledger.Migration
	err := withProvider(path, func(p *goose.Provider) error {
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

// withProvider opens the file as goose wants it, and closes it after.
func withProvider(path string, do func(*goose.Provider) error) error {
	lock, err := lockFile(path)
	if err != nil {
		return err
	}
	db, err := openWriter(path)
	if err != nil {
		return errors.Join(err, lock.release())
	}
	p, err := newProvider(db)
	if err == nil {
		err = do(p)
	}
	return errors.Join(err, db.Close(), lock.release())
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, fmt.Errorf("ledger: migrations: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithTableName(schemaTable),
		goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("ledger: migrations: %w", err)
	}
	return p, nil
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
