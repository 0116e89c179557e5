package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/named"
	"tallyman/internal/ledger/store"
)

var queries = named.MustParse(sqlFiles, "sql")

// engine implements store.Engine on the ledger.
type engine struct{ *Ledger }

var _ store.Engine = engine{}

// Exec implements store.Conn.
func (e engine) Exec(ctx context.Context, name string, args ...any) (int64, error) {
	return e.exec(ctx, name, args...)
}

// One implements store.Conn.
func (e engine) One(ctx context.Context, name string, args []any, targets ...any) (bool, error) {
	found, err := one(ctx, e.read, name, args, targets...)
	if err != nil {
		return false, fmt.Errorf("ledger: %w", err)
	}
	return found, nil
}

// Each implements store.Conn.
func (e engine) Each(ctx context.Context, name string, args, targets []any, visit func() error) error {
	if err := each(ctx, e.read, name, args, targets, visit); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// EachPlanned implements store.Engine: SQLite's plans depend on the statement alone.
func (e engine) EachPlanned(ctx context.Context, _, name string, args, targets []any, visit func() error) error {
	return e.Each(ctx, name, args, targets, visit)
}

// InTx implements store.Engine.
func (e engine) InTx(ctx context.Context, what string, do func(store.Conn) error) error {
	return e.inTx(ctx, what, func(tx *sql.Tx) error { return do(conn{tx}) })
}

// InAuditTx implements store.Engine: SQLite runs only one write transaction at a time.
func (e engine) InAuditTx(ctx context.Context, what string, do func(store.Conn) error) error {
	return e.InTx(ctx, what, do)
}

// Aside implements store.Engine. Nobody takes over from the one node that has the file.
func (e engine) Aside() store.Engine { return e }

// IsAlone implements store.Engine.
func (e engine) IsAlone() bool { return true }

// IsDuplicate implements store.Engine.
func (e engine) IsDuplicate(err error) bool {
	var failure *driver.Error
	if !errors.As(err, &failure) {
		return false
	}
	return failure.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || failure.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

// conn runs statements in a transaction.
type conn struct{ tx *sql.Tx }

// Exec implements store.Conn.
func (c conn) Exec(ctx context.Context, name string, args ...any) (int64, error) {
	return exec(ctx, c.tx, name, args...)
}

// One implements store.Conn.
func (c conn) One(ctx context.Context, name string, args []any, targets ...any) (bool, error) {
	return one(ctx, c.tx, name, args, targets...)
}

// Each implements store.Conn.
func (c conn) Each(ctx context.Context, name string, args, targets []any, visit func() error) error {
	return each(ctx, c.tx, name, args, targets, visit)
}

// inTx runs do in a transaction. No other transaction can write meanwhile.
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

// change runs do in a transaction and writes the audit record that do returns; nil = no record.
func (l *Ledger) change(ctx context.Context, what string, who ledger.Author, do func(*sql.Tx) (*ledger.Change, error)) error {
	return l.Recorder.Run(func(write store.Record) error {
		return l.inTx(ctx, what, func(tx *sql.Tx) error {
			c, err := do(tx)
			if err != nil {
				return err
			}
			return write(ctx, conn{tx}, c.SetAuthor(who))
		})
	})
}

// exec runs the query by name in a transaction of its own.
func (l *Ledger) exec(ctx context.Context, name string, args ...any) (int64, error) {
	n, err := exec(ctx, l.write, name, args...)
	if err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	return n, nil
}

// execer is the connection for writing, or a transaction on it.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// exec runs the query by name and returns the number of rows it changed.
func exec(ctx context.Context, db execer, name string, args ...any) (int64, error) {
	res, err := db.ExecContext(ctx, queries.Get(name), encoded(args)...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}

// queryer is a database or a transaction to read from.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// each runs the query by name. each scans each row into the targets and then calls visit.
func each(ctx context.Context, db queryer, name string, args, targets []any, visit func() error) error {
	found, err := db.QueryContext(ctx, queries.Get(name), encoded(args)...)
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

// one runs the query by name and scans one row; false = there is none.
func one(ctx context.Context, db queryer, name string, args []any, targets ...any) (bool, error) {
	err := db.QueryRowContext(ctx, queries.Get(name), encoded(args)...).Scan(targets...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}

// encoded replaces lists among the arguments by JSON arrays, which the statements take.
func encoded(args []any) []any {
	for i := range args {
		switch values := args[i].(type) {
		case []int64:
			args[i] = jsonArray(values)
		case []string:
			args[i] = jsonArray(values)
		}
	}
	return args
}

func jsonArray[T int64 | string](values []T) string {
	if values == nil {
		return "[]"
	}
	b, err := json.Marshal(values)
	if err != nil { // numbers and strings always encode
		return "[]"
	}
	return string(b)
}

// failed adds to an error which operation failed.
func failed(what string, err error) error {
	return fmt.Errorf("ledger: %s: %w", what, err)
}

// chunk is how many rows one INSERT has: enough to make the cost of the statement itself small.
const chunk = 50

// insertRows runs the INSERT by name for n rows, several rows in a statement. args appends the columns of row i.
func insertRows(ctx context.Context, tx *sql.Tx, name string, n int, args func(dst []any, i int) []any) error {
	if n == 0 {
		return nil
	}
	var many *sql.Stmt
	var buf []any
	for start := 0; start < n; start += chunk {
		size := min(chunk, n-start)
		buf = buf[:0]
		for i := range size {
			buf = args(buf, start+i)
		}
		var err error
		if size == chunk {
			if many == nil {
				if many, err = tx.PrepareContext(ctx, repeated(name, chunk)); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				defer func() { _ = many.Close() }() // the transaction closes what it prepared
			}
			_, err = many.ExecContext(ctx, buf...)
		} else {
			_, err = tx.ExecContext(ctx, repeated(name, size), buf...)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// repeated returns the text of the INSERT by name for n rows.
func repeated(name string, n int) string {
	query := queries.Get(name)
	_, row, _ := strings.Cut(query, "VALUES")
	return query + strings.Repeat(","+row, n-1)
}

// repeat prepares the query by name and calls run with it for each i from 0 to n-1.
func repeat(ctx context.Context, tx *sql.Tx, name string, n int, run func(stmt *sql.Stmt, i int) error) error {
	if n == 0 {
		return nil
	}
	stmt, err := tx.PrepareContext(ctx, queries.Get(name))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer func() { _ = stmt.Close() }() // the transaction closes what it prepared
	for i := range n {
		if err := run(stmt, i); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
