package sqlite

import (
	"context"
	"database/sql"
	"reflect"
	"slices"
	"strings"

	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

// connection is the open file of one scan, or of one session.
type connection struct {
	sql    *sql.Conn
	handle uintptr // SQLite's own handle
	kept   bool    // a session keeps the connection, and closes it itself

	functions scanners.Functions
	refused   []scanners.Call // functions that a statement calls and may not call; Prepare clears the list first
}

// find finds the handle. The driver can interrupt a statement only until its first row, but SQLite may work for long
// between rows, too. So this package interrupts the statement itself. The driver does not export the handle, so find
// reads it by reflection.
func (c *connection) find(driverConn any) error {
	field := reflect.Indirect(reflect.ValueOf(driverConn)).FieldByName("db")
	if field.Kind() != reflect.Uintptr || field.Uint() == 0 {
		return errDriver
	}
	c.handle = uintptr(field.Uint())
	return nil
}

// secure lets the connection only read. If hidden is not nil, secure calls hidden for each table of the file that a
// statement would read. hidden returns true if the statement may not read that table.
func (c *connection) secure(ctx context.Context, hidden func(table string) bool) error {
	err := c.sql.Raw(func(driverConn any) error {
		authorizer, ok := driverConn.(sqlite.AuthorizerRegisterer)
		if !ok {
			return errDriver
		}
		return authorizer.RegisterAuthorizer(func(action sqlite.AuthorizerActionCode, arg1, arg2, database, _ string) sqlite.AuthorizerReturnCode {
			if action == sqlite.AuthFunction && c.refuses(arg2) {
				return sqlite.AuthorizerDeny
			}
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

// refuses tells whether a statement may not call the function. refuses remembers refused functions for the error.
func (c *connection) refuses(name string) bool {
	name = strings.ToLower(name)
	why, found := probe.Refuse(name)
	if !found && loads[name] {
		why, found = probe.Refusal{Does: "reaches files or other programs"}, true
	}
	if !found || c.functions.Allows(name) {
		return false
	}
	if !slices.ContainsFunc(c.refused, func(call scanners.Call) bool { return call.Name == name }) {
		c.refused = append(c.refused, scanners.Call{Name: name, Why: why.Does, Hint: why.Hint})
	}
	return true
}

// loads has functions of SQLite's shell and extensions that do more than calculate. probe.Refuse has the functions that
// are refused for every database. This driver has none of these functions, but a later version may.
var loads = map[string]bool{
	"edit": true, "eval": true, "zipfile": true, "fts5": true, "fts5_tokenizer": true, "sqlite_log": true,
}

// readsOnly decides about everything that a statement would do. SQLite asks when it compiles the statement.
func readsOnly(action sqlite.AuthorizerActionCode, pragma string) sqlite.AuthorizerReturnCode {
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRead, sqlite.AuthRecursive, sqlite.AuthFunction:
		return sqlite.AuthorizerOK
	case sqlite.AuthPragma:
		if pragma == "table_info" { // Prepare uses it to find NOT NULL columns
			return sqlite.AuthorizerOK
		}
		fallthrough
	default:
		return sqlite.AuthorizerDeny
	}
}

// mostAtOnce is how many times the limit of a row SQLite may hold at once, in bytes of values.
const mostAtOnce = 4

// bound limits the length of a value in statements whose result has this number of columns. SQLite limits single
// values, whether it reads or makes them, and the rows that it sorts. It does not limit a row of a result, and holds
// all values of that row before we see the first. So from the fifth column on, each column makes the bound shorter.
// With the default limits, the bound is below the limit of a value from the 17th column on.
func (c *connection) bound(limits scanners.Limits, columns int) (most int, err error) {
	most = limits.Row
	if columns > mostAtOnce {
		most = min(most, mostAtOnce*limits.Row/columns)
	}
	most = max(most, leastLength)
	// A sorted row has a head of its own.
	if _, err := sqlite.Limit(c.sql, sqlite3.SQLITE_LIMIT_LENGTH, most+sortedHead+columns*sortedColumn); err != nil {
		return 0, err
	}
	return most, nil
}

// leastLength is long enough for SQLite to read the CREATE statements of its tables.
const leastLength = 64 << 10

// The most bytes that SQLite writes before the values of a sorted row, and for each of its columns.
const (
	sortedHead   = 64
	sortedColumn = 9
)

// interruptible interrupts the connection's statement when ctx ends, until stop is called.
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
			<-done // otherwise the handle could be closed during the interrupt
		}
	}
}

func (c *connection) close() {
	if !c.kept {
		_ = c.sql.Close()
	}
}
