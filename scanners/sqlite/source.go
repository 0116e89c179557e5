package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"tallyman/scanners"
)

// Defaults of Config.
const (
	defaultMaxConnections   = 4
	defaultStatementTimeout = 30 * time.Second
)

// busyTimeout is how long a read waits for a writer if the file is not in WAL mode. The scan's own timeout may end the
// wait earlier.
const busyTimeout = 30 * time.Second

// Driver declares the driver.
var Driver = scanners.Driver{
	Name: "sqlite", Address: "sqlite:FILE", Wrong: "names no SQLite file",
	IsFile: true, IsAddress: isFile, LooksUpFunctions: true,
	Open:    func(_ context.Context, c scanners.Config) (scanners.Source, error) { return scanners.Opened(Open(c)) },
	Scratch: Scratch,
}

func isFile(address string) bool {
	file, found := strings.CutPrefix(address, "sqlite:")
	return found && scanners.IsFileName(file)
}

// Config is one configured source. Its URL is sqlite:FILE, or sqlite::memory: for an empty database in which sessions
// stage tables.
type Config = scanners.Config

// Source is a SQLite file.
type Source struct {
	db      *sql.DB
	path    string // "" for a database in memory
	timeout time.Duration
	limits  scanners.Limits

	location  *time.Location // of times without a zone
	functions scanners.Functions
}

// Open returns a source. The file is opened when it is first used, and never created.
func Open(config Config) (*Source, error) {
	zone, err := driverZone(config.Zone())
	if err != nil {
		return nil, err
	}
	file, found := strings.CutPrefix(config.URL, "sqlite:")
	if !found || file == "" {
		return nil, errorf(scanners.CodeUnreachable, false, "write sqlite:FILE", "the URL of the source is not one of SQLite")
	}
	options := url.Values{
		"mode":        {"ro"},
		"_query_only": {"1"},
		"_dqs":        {"0"}, // "x" is a name, as everywhere else, and never a text
		"_timezone":   {zone},
		"_pragma":     {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())},
	}
	var path string
	dsn := url.URL{Scheme: "file", OmitHost: true}
	if file == ":memory:" {
		dsn.Opaque = file
		options.Del("mode")
	} else {
		if path, err = filepath.Abs(file); err != nil {
			return nil, fmt.Errorf("find the folder of the source: %w", err)
		}
		dsn.Path = filepath.ToSlash(path)
	}
	dsn.RawQuery = options.Encode()
	connector, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, fmt.Errorf("set up SQLite: %w", err)
	}
	s := &Source{db: sql.OpenDB(connector), path: path, timeout: config.StatementTimeout, limits: config.Limits.WithDefaults(), location: config.Zone(), functions: config.Functions}
	if s.timeout <= 0 {
		s.timeout = defaultStatementTimeout
	}
	s.db.SetMaxIdleConns(0)
	s.db.SetMaxOpenConns(defaultMaxConnections)
	if config.MaxConnections > 0 {
		s.db.SetMaxOpenConns(config.MaxConnections)
	}
	return s, nil
}

// Ping tells whether the file exists and is a database.
func (s *Source) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.close()
	var n int
	if err := conn.sql.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n); err != nil {
		return mapError(ctx, err, scanners.CodeFailed)
	}
	return nil
}

// Close closes the idle connections. A running scan goes on, and its connection is closed when the scan ends.
func (s *Source) Close() error { return s.db.Close() }

// connect opens the file for one scan.
func (s *Source) connect(ctx context.Context) (*connection, error) {
	c, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.secure(ctx, nil); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// open opens the file. Until secure is called, only our own statements may run.
func (s *Source) open(ctx context.Context) (*connection, error) {
	switch _, err := os.Stat(s.path); {
	case err == nil, s.path == "":
	case errors.Is(err, os.ErrNotExist):
		return nil, errorf(scanners.CodeUnreachable, true, "", "no file %s", s.path)
	default:
		return nil, errorf(scanners.CodeUnreachable, true, "", "the file cannot be opened: %w", err)
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, mapError(ctx, err, scanners.CodeFailed)
	}
	c := &connection{sql: conn, functions: s.functions}
	if err := conn.Raw(c.find); err != nil {
		c.close()
		return nil, mapError(ctx, err, scanners.CodeFailed)
	}
	return c, nil
}

var errDriver = errors.New("this version of the SQLite driver lacks a function that Tallyman needs")

func errorf(code scanners.Code, transient bool, hint, format string, args ...any) *scanners.Error {
	return &scanners.Error{Code: code, Transient: transient, Hint: hint, Err: fmt.Errorf(format, args...)}
}

// mapError turns an error into a scanners.Error. generic is the code of all errors that the switch below does not list.
// Use CodeStatement while a statement is compiled, and CodeFailed while it runs.
func mapError(ctx context.Context, err error, generic scanners.Code) *scanners.Error {
	if mapped, ok := errors.AsType[*scanners.Error](err); ok {
		return mapped
	}
	switch cause := ctx.Err(); {
	case errors.Is(cause, context.Canceled), errors.Is(err, context.Canceled):
		return errorf(scanners.CodeFailed, true, "", "%w", context.Canceled)
	case errors.Is(cause, context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return errorf(scanners.CodeTimeout, true, "", "the statement took too long: %w", context.DeadlineExceeded)
	}
	var dbErr *sqlite.Error
	if !errors.As(err, &dbErr) {
		return errorf(generic, false, "", "%w", err)
	}
	switch dbErr.Code() & 0xff {
	case sqlite3.SQLITE_TOOBIG:
		return errorf(scanners.CodeTooLarge, false, "", "%w", err)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM:
		return errorf(scanners.CodeUnreachable, true, "", "%w", err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH:
		return errorf(scanners.CodeReadOnly, false, "a probe only reads", "%w", err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_FULL:
		return errorf(scanners.CodeFailed, true, "", "%w", err)
	}
	return errorf(generic, false, "", "%w", err)
}
