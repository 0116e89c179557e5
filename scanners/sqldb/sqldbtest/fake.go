package sqldbtest

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Fake is a driver whose database gives prepared answers. Fake is safe for concurrent use.
type Fake struct {
	Answers []Answer
	// Connect, if not nil, is the error of every attempt to connect.
	Connect error

	mu  sync.Mutex
	log []string
}

// Answer is the answer to statements that contain Match. The first Answer that matches is used. A statement without a
// match returns no rows.
type Answer struct {
	Match   string
	Columns []Column
	Rows    [][]driver.Value
	Err     error // returned at once, or after the rows if there are columns
	Block   bool  // waits until the context ends: at once, or after the rows if there are columns
}

// Column is a column of an answer.
type Column struct {
	Name, Type string
	Nullable   bool
	Precision  int64
	Scale      int64
}

// Log returns the statements so far, and clears the log.
func (f *Fake) Log() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	log := f.log
	f.log = nil
	return log
}

func (f *Fake) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

// Connector returns the driver.
func (f *Fake) Connector() driver.Connector { return connector{f} }

type connector struct{ fake *Fake }

// Connect is called by database/sql.
func (c connector) Connect(context.Context) (driver.Conn, error) {
	if c.fake.Connect != nil {
		return nil, c.fake.Connect
	}
	return &conn{fake: c.fake}, nil
}

// Driver is called by database/sql.
func (c connector) Driver() driver.Driver { return nil }

type conn struct{ fake *Fake }

var errNotAsked = errors.New("no scanner asks for this")

// Prepare is never called.
func (c *conn) Prepare(string) (driver.Stmt, error) { return nil, errNotAsked }

// Begin is never called.
func (c *conn) Begin() (driver.Tx, error) { return nil, errNotAsked }

// BeginTx is called by the drivers themselves.
func (c *conn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	c.fake.note("begin")
	return nil, nil //nolint:nilnil // nobody commits
}

// Close is called by database/sql.
func (c *conn) Close() error { c.fake.note("close"); return nil }

// CheckNamedValue accepts all values, as the real drivers do with types of their own.
func (c *conn) CheckNamedValue(*driver.NamedValue) error { return nil }

func (c *conn) answer(ctx context.Context, query string, args []driver.NamedValue) (Answer, error) {
	var values []string
	for _, a := range args {
		values = append(values, fmt.Sprintf("%T=%v", a.Value, a.Value))
	}
	c.fake.note("%s %s", query, strings.Join(values, " "))
	for _, a := range c.fake.Answers {
		if !strings.Contains(query, a.Match) {
			continue
		}
		if len(a.Columns) == 0 && a.Block {
			<-ctx.Done()
			return a, ctx.Err()
		}
		if len(a.Columns) == 0 {
			return a, a.Err
		}
		return a, nil
	}
	return Answer{}, nil
}

// ExecContext is called by database/sql.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	_, err := c.answer(ctx, query, args)
	return driver.RowsAffected(0), err
}

// QueryContext is called by database/sql.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	a, err := c.answer(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return &rows{ctx: ctx, answer: a}, nil
}

type rows struct {
	ctx    context.Context //nolint:containedctx // of the query, as a driver has it
	answer Answer
	next   int
}

// Columns is called by database/sql.
func (r *rows) Columns() []string {
	var names []string
	for _, c := range r.answer.Columns {
		names = append(names, c.Name)
	}
	return names
}

// ColumnTypeDatabaseTypeName is called by database/sql.
func (r *rows) ColumnTypeDatabaseTypeName(i int) string { return r.answer.Columns[i].Type }

// ColumnTypeNullable is called by database/sql.
func (r *rows) ColumnTypeNullable(i int) (nullable, ok bool) {
	return r.answer.Columns[i].Nullable, true
}

// ColumnTypePrecisionScale is called by database/sql.
func (r *rows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	return r.answer.Columns[i].Precision, r.answer.Columns[i].Scale, true
}

// Close is called by database/sql.
func (r *rows) Close() error { return nil }

// Next is called by database/sql.
func (r *rows) Next(dest []driver.Value) error {
	if r.next < len(r.answer.Rows) {
		copy(dest, r.answer.Rows[r.next])
		r.next++
		return nil
	}
	if r.answer.Block {
		<-r.ctx.Done()
		return r.ctx.Err()
	}
	if r.answer.Err != nil {
		return r.answer.Err
	}
	return io.EOF
}
