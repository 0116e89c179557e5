package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"tallyman/internal/ledger"
)

// Migrate is Schema.Up or Schema.Expand.
type Migrate func(ctx context.Context, db *sql.DB, opts ...goose.ProviderOption) ([]ledger.Migration, error)

// Table is the table that records the applied migrations.
const Table = "ledger_schema"

// Schema is the set of migrations of one engine.
type Schema struct {
	Dialect goose.Dialect
	Files   fs.FS // with migrations/*.sql
}

// state is what a ledger says about its schema.
type state struct {
	applied []ledger.Migration // in ascending order, with Version and Applied alone
	oldest  int64              // the oldest version of the schema whose program may use the ledger; 0 = unknown
}

// version returns the version of the ledger's schema; 0 = the ledger has no schema.
func (s state) version() int64 {
	if len(s.applied) == 0 {
		return 0
	}
	return s.applied[len(s.applied)-1].Version
}

// state reads what the ledger says about its schema. It creates nothing, so that a role that may only read can call
// it.
func (s Schema) state(ctx context.Context, db *sql.DB) (state, error) {
	var found state
	if has, err := s.hasTable(ctx, db, Table); err != nil || !has {
		return found, err
	}
	rows, err := db.QueryContext(ctx, "SELECT version_id, tstamp FROM "+Table+" WHERE is_applied AND version_id > 0 ORDER BY version_id")
	if err != nil {
		return found, fmt.Errorf("ledger: read the applied migrations: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var m ledger.Migration
		if err := rows.Scan(&m.Version, &m.Applied); err != nil {
			return found, fmt.Errorf("ledger: read the applied migrations: %w", err)
		}
		found.applied = append(found.applied, m)
	}
	if err := rows.Err(); err != nil {
		return found, fmt.Errorf("ledger: read the applied migrations: %w", err)
	}
	if has, err := s.hasTable(ctx, db, "schema_oldest"); err != nil || !has {
		return found, err
	}
	if err := db.QueryRowContext(ctx, "SELECT version FROM schema_oldest").Scan(&found.oldest); err != nil {
		return found, fmt.Errorf("ledger: read the oldest version that may use the ledger: %w", err)
	}
	return found, nil
}

func (s Schema) hasTable(ctx context.Context, db *sql.DB, table string) (bool, error) {
	query := "SELECT to_regclass($1) IS NOT NULL"
	if s.Dialect == goose.DialectSQLite3 {
		query = "SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = ?1"
	}
	var has bool
	if err := db.QueryRowContext(ctx, query, table).Scan(&has); err != nil {
		return false, fmt.Errorf("ledger: look for the table %s: %w", table, err)
	}
	return has, nil
}

// Up applies the missing migrations and returns them. A ledger that a newer version has expanded stays as it is.
// ErrOutdated, ErrNewer.
func (s Schema) Up(ctx context.Context, db *sql.DB, opts ...goose.ProviderOption) ([]ledger.Migration, error) {
	steps, err := s.Steps()
	if err != nil {
		return nil, err
	}
	return s.upTo(ctx, db, steps, steps[len(steps)-1].Version, opts)
}

// Expand is Up as far as this program needs it: the contract migrations after the last expand migration stay pending.
func (s Schema) Expand(ctx context.Context, db *sql.DB, opts ...goose.ProviderOption) ([]ledger.Migration, error) {
	steps, err := s.Steps()
	if err != nil {
		return nil, err
	}
	return s.upTo(ctx, db, steps, needed(steps), opts)
}

func (s Schema) upTo(ctx context.Context, db *sql.DB, steps []ledger.Migration, target int64, opts []goose.ProviderOption) ([]ledger.Migration, error) {
	found, err := s.state(ctx, db)
	if err != nil {
		return nil, err
	}
	if err := foreign(found, steps); err != nil {
		return nil, err
	}
	p, err := s.provider(db, opts)
	if err != nil {
		return nil, err
	}
	results, err := p.UpTo(ctx, target)
	if err != nil {
		return nil, fmt.Errorf("ledger: migrate: %w", err)
	}
	var applied []ledger.Migration
	for _, r := range results {
		for _, step := range steps {
			if step.Version == r.Source.Version {
				step.Applied = time.Now().UTC()
				applied = append(applied, step)
			}
		}
	}
	return applied, nil
}

// Status returns every migration of this program in order, with the time when it was applied. After them come the
// migrations of a newer version, which have a number and no more. Status only reads. ErrOutdated. ErrNewer comes
// together with the migrations.
func (s Schema) Status(ctx context.Context, db *sql.DB) ([]ledger.Migration, error) {
	steps, err := s.Steps()
	if err != nil {
		return nil, err
	}
	found, err := s.state(ctx, db)
	if err != nil {
		return nil, err
	}
	known := foreign(found, steps)
	if known != nil && !errors.Is(known, ledger.ErrNewer) {
		return nil, known
	}
	last := steps[len(steps)-1].Version
	for _, a := range found.applied {
		if a.Version > last {
			steps = append(steps, a)
		}
		for i := range steps {
			if steps[i].Version == a.Version {
				steps[i].Applied = a.Applied
			}
		}
	}
	return steps, known
}

// Check returns ErrSchema where the ledger lacks an expand migration of this program. A missing contract migration is
// no fault. It returns ErrOutdated where the ledger is older than the first migration, and ErrNewer where a newer
// version has removed what this program needs.
func (s Schema) Check(have, oldest int64) error {
	steps, err := s.Steps()
	if err != nil {
		return err
	}
	found := state{oldest: oldest}
	if have > 0 {
		found.applied = []ledger.Migration{{Version: have}}
	}
	if err := foreign(found, steps); err != nil {
		return err
	}
	if want := needed(steps); have < want {
		return fmt.Errorf("%w (its schema has version %d; the program needs version %d)", ledger.ErrSchema, have, want)
	}
	return nil
}

// foreign returns ErrOutdated for a ledger from before the first of the steps. It returns ErrNewer for a ledger with
// steps after the last of the steps, unless the ledger says that this program may still use it.
func foreign(s state, steps []ledger.Migration) error {
	have, first, last := s.version(), steps[0].Version, steps[len(steps)-1].Version
	switch {
	case 0 < have && have < first:
		return fmt.Errorf("%w (its schema has version %d; the oldest schema of this program has version %d)", ledger.ErrOutdated, have, first)
	case have > last && (s.oldest == 0 || s.oldest > last):
		return fmt.Errorf("%w (its schema has version %d; the schema of this program has version %d)", ledger.ErrNewer, have, last)
	}
	return nil
}

// needed returns the version of the last expand step. This program works on a ledger of this version and of each
// later one.
func needed(steps []ledger.Migration) int64 {
	var version int64
	for _, step := range steps {
		if step.Phase == ledger.Expand {
			version = step.Version
		}
	}
	return version
}

// Steps returns the migrations of this program in ascending order, as their headers describe them.
func (s Schema) Steps() ([]ledger.Migration, error) {
	names, err := fs.Glob(s.Files, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("ledger: migrations: %w", err)
	}
	if len(names) == 0 {
		return nil, errors.New("ledger: no migrations are built in")
	}
	steps := make([]ledger.Migration, len(names))
	for i, name := range names {
		text, err := fs.ReadFile(s.Files, name)
		if err != nil {
			return nil, fmt.Errorf("ledger: migrations: %w", err)
		}
		if steps[i], err = step(path.Base(name), string(text)); err != nil {
			return nil, fmt.Errorf("ledger: migration %s: %w", name, err)
		}
	}
	return steps, nil
}

// step reads the header of a migration: the comments before "+goose Up".
func step(name, text string) (ledger.Migration, error) {
	m := ledger.Migration{Name: name}
	var err error
	if m.Version, err = goose.NumericComponent(name); err != nil {
		return m, fmt.Errorf("its number: %w", err)
	}
	header, body, _ := strings.Cut(text, "-- +goose Up")
	oldest := ""
	fields := map[string]*string{"phase": &m.Phase, "locks": &m.Locks, "lasts": &m.Lasts, "oldest": &oldest}
	for line := range strings.Lines(header) {
		name, value, _ := strings.Cut(strings.TrimPrefix(line, "-- "), ":")
		if field := fields[name]; field != nil {
			*field = strings.TrimSpace(value)
		}
	}
	if m.Locks == "" || m.Lasts == "" {
		return m, errors.New("the header lacks the line \"-- locks: …\" or \"-- lasts: …\"")
	}
	switch m.Phase {
	case ledger.Expand:
		if oldest != "" {
			return m, errors.New("the header of an expand migration must not have the line \"-- oldest: …\"")
		}
	case ledger.Contract:
		if m.Oldest, err = strconv.ParseInt(oldest, 10, 64); err != nil || m.Oldest >= m.Version {
			return m, errors.New("the header of a contract migration lacks the line \"-- oldest: N\" with an earlier version")
		}
		if raise := fmt.Sprintf("UPDATE schema_oldest SET version = %d", m.Oldest); !strings.Contains(body, raise+";") {
			return m, fmt.Errorf("a contract migration must have the statement %q", raise)
		}
	default:
		return m, errors.New("the header lacks the line \"-- phase: expand\" or \"-- phase: contract\"")
	}
	return m, nil
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
