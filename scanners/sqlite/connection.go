package sqlite

import (
	"context"
	"database/sql"
	"reflect"

	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"tallyman/scanners"
)

// connection is the file opened for one scan, or for one session.
type connection struct {
	sql    *sql.Conn
	handle uintptr // SQLite's own
	kept   bool    // by a session, which closes it itself
}

// find finds the handle. The driver interrupts a statement only until its first row. Between rows it can work as long, so we
// do that ourselves, and the driver has no other way to its handle.
func (c *connection) find(driverConn any) error {
	field := reflect.Indirect(reflect.ValueOf(driverConn)).FieldByName("db")
	if field.Kind() != reflect.Uintptr || field.Uint() == 0 {
		return errDriver
	}
	c.handle = uintptr(field.Uint())
	return nil
}

// secure lets the connection read and nothing else. hidden, where there is one, is told of the tables of the file that a
// statement would read, and says which of them it may not.
func (c *connection) secure(ctx context.Context, hidden func(table string) bool) error {
	err := c.sql.Raw(func(driverConn any) error {
		authorizer, ok := driverConn.(sqlite.AuthorizerRegisterer)
		if !ok {
			return errDriver
		}
		return authorizer.RegisterAuthorizer(func(action sqlite.AuthorizerActionCode, arg1, _, database, _ string) sqlite.AuthorizerReturnCode {
			if action == sqlite.AuthRead && database == "main" && hidden != nil && hidden(arg1) {
				return sqlite.AuthorizerDeny
			}
			return readsOnly(action, arg1)
		})
	})
	if err != nil {
		return mapError(ctx, err, scanners.CodeFailed)
	}
	return nil
}

// readsOnly is asked for everything that a statement would do, when it is compiled.
func readsOnly(action sqlite.AuthorizerActionCode, pragma string) sqlite.AuthorizerReturnCode {
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRead, sqlite.AuthRecursive, sqlite.AuthFunction:
		return sqlite.AuthorizerOK
	case sqlite.AuthPragma:
		if pragma == "table_info" { // which Prepare asks for NOT NULL
			return sqlite.AuthorizerOK
		}
		fallthrough
	default:
		return sqlite.AuthorizerDeny
	}
}

// mostAtOnce is how many rows, each as large as a row may be, SQLite may hold the values of.
const mostAtOnce = 4

// bound says how long a value may be in statements whose result has so many columns. SQLite bounds values, whether it reads them or
// makes them, and the rows that it sorts, but not a row of a result: each of whose values it holds before we see the first.
// So the more columns there are, the shorter is a value. With the default limits that begins with the 17th column.
func (c *connection) bound(limits scanners.Limits, columns int) (most int, err error) {
	most = limits.Row
	if columns > mostAtOnce {
		most = min(most, mostAtOnce*limits.Row/columns)
	}
	most = max(most, leastLength)
	// A row that is sorted has a head of its own.
	if _, err := sqlite.Limit(c.sql, sqlite3.SQLITE_LIMIT_LENGTH, most+sortedHead+columns*sortedColumn); err != nil {
		return 0, err
	}
	return most, nil
}

// leastLength lets SQLite read the statements that made its tables.
const leastLength = 64 << 10

// What SQLite writes before the values of a row that it sorts: at most so many bytes, and so many for each column.
const (
	sortedHead   = 64
	sortedColumn = 9
)

// interruptible interrupts what the connection runs when ctx ends, until the returned function is called.
func (c *connection) interruptible(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		tls := libc.NewTLS()
		defer tls.Close()
		sqlite3.Xsqlite3_interrupt(tls, c.handle)
	})
	return func() {
		if !cancel() {
			<-done // or the handle could be closed under it
		}
	}
}

func (c *connection) close() {
	if !c.kept {
		_ = c.sql.Close()
	}
}
