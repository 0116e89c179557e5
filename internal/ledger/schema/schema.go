package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"

	"tallyman/internal/ledger"
)

// Table is the table that records the applied migrations.
const Table = "ledger_schema"

// Schema is the set of migrations of one engine.
type Schema struct {
	Dialect goose.Dialect
	Files   fs.FS // with migrations/*.sql
}

// Up applies the missing migrations and returns them. ErrOutdated, ErrNewer.
func (s Schema) Up(ctx context.Context, db *sql.DB, opts ...goose.ProviderOption) ([]ledger.Migration, error) {
	p, err := s.provider(db, opts)
	if err != nil {
		return nil, err
	}
	if err := s.checkKnown(ctx, p); err != nil {
		return nil, err
	}
	results, err := p.Up(ctx)
	if err != nil {
		return nil, fmt.Errorf("ledger: migrate: %w", err)
	}
	var applied []ledger.Migration
	for _, r := range results {
		applied = append(applied, ledger.Migration{Version: r.Source.Version, Name: r.Source.Path, Applied: time.Now().UTC()})
	}
	return applied, nil
}

// Status returns every migration of this program in order, with the time when it was applied. ErrOutdated. ErrNewer
// comes together with the migrations.
func (s Schema) Status(ctx context.Context, db *sql.DB) ([]ledger.Migration, error) {
	p, err := s.provider(db, nil)
	if err != nil {
		return nil, err
	}
	known := s.checkKnown(ctx, p)
	if known != nil && !errors.Is(known, ledger.ErrNewer) {
		return nil, known
	}
	status, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("ledger: migration status: %w", err)
	}
	var list []ledger.Migration
	for _, step := range status {
		list = append(list, ledger.Migration{Version: step.Source.Version, Name: step.Source.Path, Applied: step.AppliedAt})
	}
	return list, known
}

// checkKnown returns ErrOutdated or ErrNewer where the ledger has a version that no migration of this program has.
func (s Schema) checkKnown(ctx context.Context, p *goose.Provider) error {
	have, err := p.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("ledger: migrations: %w", err)
	}
	sources := p.ListSources()
	return foreign(have, sources[0].Version, sources[len(sources)-1].Version)
}

// foreign returns the error for a version outside the migrations from first to last.
func foreign(have, first, last int64) error {
	switch {
	case 0 < have && have < first:
		return fmt.Errorf("%w (its schema is at version %d, those of this program begin at %d)", ledger.ErrOutdated, have, first)
	case have > last:
		return fmt.Errorf("%w (its schema is at version %d, that of this program is %d)", ledger.ErrNewer, have, last)
	}
	return nil
}

// Check returns ErrSchema unless have, the ledger's version, is that of the last migration. Check returns ErrOutdated
// where have is below the first one, and ErrNewer where it is above the last one.
func (s Schema) Check(have int64) error {
	names, err := fs.Glob(s.Files, "migrations/*.sql")
	if err != nil {
		return fmt.Errorf("ledger: migrations: %w", err)
	}
	if len(names) == 0 {
		return errors.New("ledger: no migrations are built in")
	}
	first, err := goose.NumericComponent(names[0])
	if err != nil {
		return fmt.Errorf("ledger: migrations: %w", err)
	}
	want, err := goose.NumericComponent(names[len(names)-1])
	if err != nil {
		return fmt.Errorf("ledger: migrations: %w", err)
	}
	if err := foreign(have, first, want); err != nil {
		return err
	}
	if have != want {
		return fmt.Errorf("%w (it is at version %d, the program wants %d)", ledger.ErrSchema, have, want)
	}
	return nil
}

func (s Schema) provider(db *sql.DB, opts []goose.ProviderOption) (*goose.Provider, error) {
	files, err := fs.Sub(s.Files, "migrations")
	if err != nil {
		return nil, fmt.Errorf("ledger: migrations: %w", err)
	}
	opts = append(opts, goose.WithTableName(Table), goose.WithDisableGlobalRegistry(true))
	p, err := goose.NewProvider(s.Dialect, db, files, opts...)
	if err != nil {
		return nil, fmt.Errorf("ledger: migrations: %w", err)
	}
	return p, nil
}
