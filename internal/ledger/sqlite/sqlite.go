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

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/named"
	"tallyman/internal/ledger/rows"
)

//go:embed sql
var sqlFiles embed.FS

var queries = named.MustParse(sqlFiles, "sql")

const (
	defaultConnections = 8
	readPragmas        = "?_pragma=busy_timeout(10000)&_pragma=query_only(1)"
	writePragmas       = "?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)" +
		"&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)"
)

// Ledger is the ledger in a SQLite file. It is safe for concurrent use.
type Ledger struct {
	lock  *fileLock // nil where it is open for reading only
	write *sql.DB   // one connection
	read  *sql.DB
	now   func() time.Time
	step  func(string) // see ledger.Options.Step

	closing sync.Once
}

var _ ledger.Ledger = (*Ledger)(nil)

// Open opens the file. ErrInUse while another process, or another Ledger, has it open; ErrSchema when it does
// not exist or its schema is not this program's.
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
	if err := l.checkSchema(ctx); err != nil {
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

// openReaders completes a ledger that has its writer.
func openReaders(path, pragmas string, l *Ledger, opts ledger.Options) (*Ledger, error) {
	read, err := sql.Open("sqlite", dsn(path, pragmas))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ledger: open %s: %w", path, err), l.write.Close())
	}
	readers := defaultConnections
	if opts.MaxConnections > 0 {
		readers = opts.MaxConnections
	}
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	l.read, l.now, l.step = read, opts.Now, opts.Steps()
	if l.now == nil {
		l.now = time.Now
	}
	return l, nil
}

func openWriter(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(path, writePragmas))
	if err != nil {
		return nil, fmt.Errorf("ledger: open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// dsn makes a URI of the path, whatever characters it has.
func dsn(path, pragmas string) string {
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(path)) + pragmas
}

// Ping asks whether the file can be read.
func (l *Ledger) Ping(ctx context.Context) error {
	if _, err := l.Version(ctx); err != nil {
		return err
	}
	return nil
}

// Now implements ledger.Ledger. The file belongs to one node, and its clock is that of the node's machine.
func (l *Ledger) Now(context.Context) (time.Time, error) { return rows.Time(l.clock()), nil }

// Close closes the file and lets others in. Closing twice is fine.
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

// clock is "now" in µs.
func (l *Ledger) clock() int64 { return l.now().UnixMicro() }

// until is the end of a lease that begins now, in µs.
func (l *Ledger) until(lease time.Duration) int64 { return l.now().Add(lease).UnixMicro() }

// inTx runs do in a transaction, which has the file for itself.
func (l *Ledger) inTx(ctx context.Context, what string, do func(*sql.Tx) error) error {
	tx, err := l.write.BeginTx(ctx, nil)
	if err != nil {
		return failed(what, err)
	}
	defer tx.Rollback()
	if err := do(tx); err != nil {
		return failed(what, err)
	}
	if err := tx.Commit(); err != nil {
		return failed(what, err)
	}
	return nil
}

// execer is the connection for writing, or a transaction on it.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// exec runs the query by name and returns the number of rows it changed.
func exec(ctx context.Context, db execer, name string, args ...any) (int64, error) {
	res, err := db.ExecContext(ctx, queries.Get(name), args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}

// exec runs the query by name in a transaction of its own.
func (l *Ledger) exec(ctx context.Context, name string, args ...any) (int64, error) {
	n, err := exec(ctx, l.write, name, args...)
	if err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	return n, nil
}

// queryer is anything that can be read from.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// each runs the query by name and calls visit after each row was scanned into the targets.
func each(ctx context.Context, db queryer, name string, args, targets []any, visit func() error) error {
	found, err := db.QueryContext(ctx, queries.Get(name), args...)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer found.Close()
	for found.Next() {
		if err := found.Scan(targets...); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := visit(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := found.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// one runs the query by name for one row; false if there is none.
func one(ctx context.Context, db queryer, name string, args []any, targets ...any) (bool, error) {
	err := db.QueryRowContext(ctx, queries.Get(name), args...).Scan(targets...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}

// failed says which operation an error belongs to.
func failed(what string, err error) error {
	return fmt.Errorf("ledger: %s: %w", what, err)
}

// hasCode tells whether SQLite answered with that extended code.
func hasCode(err error, codes ...int) bool {
	var e *driver.Error
	if !errors.As(err, &e) {
		return false
	}
	for _, c := range codes {
		if e.Code() == c {
			return true
		}
	}
	return false
}

func isUniqueViolation(err error) bool {
	return hasCode(err, sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

func isForeignKeyViolation(err error) bool {
	return hasCode(err, sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY)
}
