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

// connection is the file opened for one scan, or for one session.
type connection struct {
	sql    *sql.Conn
	handle uintptr // SQLite's own
	kept   bool    // by a session, which closes it itself

	functions scanners.Functions
	refused   []scanners.Call // functions that a statement would call and may not, since forget
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

// refuses tells whether a statement may not call the function, and remembers the function for the error.
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

// loads holds functions of SQLite's shell and extensions that do more than calculate, beside those that no database's probes may call. This driver has none of
// them; a later version of the driver may.
var loads = map[string]bool{
	"edit": true, "eval": true, "zipfile": true, "fts5": true, "fts5_tokenizer": true, "sqlite_log": true,
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
