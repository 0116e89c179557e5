package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pressly/goose/v3"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/schema"
	"tallyman/internal/ledger/store"
)

//go:embed sql
var sqlFiles embed.FS

const (
	defaultConnections = 8
	readPragmas        = "?_pragma=busy_timeout(10000)&_pragma=query_only(1)"
	writePragmas       = "?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)" +
		"&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)"
)

// Ledger is the ledger in a SQLite file. Ledger is safe for concurrent use.
type Ledger struct {
	*store.Store

	lock  *fileLock // nil when opened for reading only
	write *sql.DB   // one connection
	read  *sql.DB
	now   func() time.Time // the node's time
	// machine is the clock of this machine, by which leases are judged.
	machine func() time.Time

	closing sync.Once
}

var _ ledger.Ledger = (*Ledger)(nil)

// Open opens the ledger. ErrInUse while another process, or another Ledger, has the file open. ErrSchema if the file
// does not exist or its schema is not at this program's version.
func Open(ctx context.Context, path string, opts ledger.Options) (*Ledger, error) {
	if err := exists(path); err != nil {
		return nil, err
	}
	lock, err := lockFile(path)
	if err != nil {
		return nil, err
	}
	l, err := open(path, lock, opts)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	if err := l.CheckSchema(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func exists(path string) error {
	_, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w (there is no file %s)", ledger.ErrSchema, path)
	case err != nil:
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

func open(path string, lock *fileLock, opts ledger.Options) (*Ledger, error) {
	write, err := openWriter(path)
	if err != nil {
		return nil, err
	}
	return openReaders(path, readPragmas, &Ledger{lock: lock, write: write}, opts)
}

// openReaders opens the connections for reading of a ledger that has its writer.
func openReaders(path, pragmas string, l *Ledger, opts ledger.Options) (*Ledger, error) {
	read, err := openDB(path, pragmas)
	if err != nil {
		return nil, errors.Join(err, l.write.Close())
	}
	readers := defaultConnections
	if opts.MaxConnections > 0 {
		readers = opts.MaxConnections
	}
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.NodeTime == nil {
		opts.NodeTime = opts.Now
	}
	l.read, l.now, l.machine = read, opts.NodeTime, opts.Now
	l.Store = store.New(engine{l}, opts)
	return l, nil
}

func openWriter(path string) (*sql.DB, error) {
	db, err := openDB(path, writePragmas)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// dsn makes a URI from the path, which may contain any character.
func dsn(path, pragmas string) string {
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(path)) + pragmas
}

// The settings for opening a ledger read-only. They never create the file.
const (
	viewPragmas = "?mode=ro&_pragma=busy_timeout(10000)&_pragma=query_only(1)"
	// For a file that no node has open. With mode=ro alone, SQLite would create files beside the ledger that belong
	// to the reading user, and the node could not write them.
	stillPragmas = "?mode=ro&immutable=1&_pragma=query_only(1)"
)

// OpenReadOnly is Open for reading, even while a node has the file open. OpenReadOnly takes no lock, and every write
// fails. If no node has the file open at that moment, the ledger shows the state of that moment only.
func OpenReadOnly(ctx context.Context, path string, opts ledger.Options) (*Ledger, error) {
	if err := exists(path); err != nil {
		return nil, err
	}
	return openView(ctx, path, readingPragmas(path), opts)
}

// readingPragmas returns the settings for reading the file as it is now.
func readingPragmas(path string) string {
	// A node that has the file open keeps a -wal file beside it.
	if _, err := os.Stat(path + "-wal"); errors.Is(err, os.ErrNotExist) {
		return stillPragmas
	}
	return viewPragmas
}

// openDB opens the file with these settings, whatever its schema.
func openDB(path, pragmas string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(path, pragmas))
	if err != nil {
		return nil, fmt.Errorf("ledger: open %s: %w", path, err)
	}
	return db, nil
}

func openView(ctx context.Context, path, pragmas string, opts ledger.Options) (*Ledger, error) {
	write, err := openDB(path, pragmas)
	if err != nil {
		return nil, err
	}
	l, err := openReaders(path, pragmas, &Ledger{write: write}, opts)
	if err != nil {
		return nil, err
	}
	if err := l.CheckSchema(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Ping checks that the file can be read.
func (l *Ledger) Ping(ctx context.Context) error {
	_, err := l.Version(ctx)
	return err
}

// Close closes the file and releases its lock. A second call does nothing.
func (l *Ledger) Close() error {
	var err error
	l.closing.Do(func() {
		err = errors.Join(l.read.Close(), l.write.Close())
		if l.lock != nil {
			err = errors.Join(err, l.lock.release())
		}
	})
	if err != nil {
		return fmt.Errorf("ledger: close: %w", err)
	}
	return nil
}

// nowMicros returns the node's time in µs.
func (l *Ledger) nowMicros() int64 { return l.now().UnixMicro() }

//go:embed migrations
var migrationFiles embed.FS

func steps() schema.Schema {
	return schema.Schema{Dialect: goose.DialectSQLite3, Files: migrationFiles}
}

// Migrate creates the file if it does not exist, brings its schema to this program's version and returns the applied
// migrations. ErrInUse while a process has the file open.
func Migrate(ctx context.Context, path string) ([]ledger.Migration, error) {
	return migrate(ctx, path, steps().Up)
}

// Expand is Migrate without the contract migrations that this program can do without.
func Expand(ctx context.Context, path string) ([]ledger.Migration, error) {
	return migrate(ctx, path, steps().Expand)
}

// Status returns every migration of this program, in order, with the time when it was applied. It only reads, also
// while a node has the file open. Where there is no file, every migration is pending.
func Status(ctx context.Context, path string) ([]ledger.Migration, error) {
	if err := exists(path); errors.Is(err, ledger.ErrSchema) {
		return steps().Steps()
	} else if err != nil {
		return nil, err
	}
	db, err := openDB(path, readingPragmas(path))
	if err != nil {
		return nil, err
	}
	list, err := steps().Status(ctx, db)
	return list, errors.Join(err, db.Close())
}

// migrate opens the file in the form that goose needs, calls up and closes it.
func migrate(ctx context.Context, path string, up schema.Migrate) ([]ledger.Migration, error) {
	lock, err := lockFile(path)
	if err != nil {
		return nil, err
	}
	db, err := openWriter(path)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	list, err := up(ctx, db)
	return list, errors.Join(err, db.Close(), lock.release())
}

// Version returns the version of the schema; 0 = no schema.
func (l *Ledger) Version(ctx context.Context) (int64, error) {
	return l.schemaNumber(ctx, schema.Table, "version")
}

// schemaNumber returns the result of the query, or 0 where the table is not there.
func (l *Ledger) schemaNumber(ctx context.Context, table, query string) (int64, error) {
	var tables, v int64
	if _, err := one(ctx, l.read, "has-table", []any{table}, &tables); err != nil {
		return 0, failed(query, err)
	}
	if tables == 0 {
		return 0, nil
	}
	if _, err := one(ctx, l.read, query, nil, &v); err != nil {
		return 0, failed(query, err)
	}
	return v, nil
}

// CheckSchema implements ledger.Server.
func (l *Ledger) CheckSchema(ctx context.Context) error {
	have, err := l.Version(ctx)
	if err != nil {
		return err
	}
	oldest, err := l.schemaNumber(ctx, "schema_oldest", "oldest")
	if err != nil {
		return err
	}
	return steps().Check(have, oldest)
}
