package sqlite

import (
	"context"
	"database/sql"
	"reflect"

	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// connection is the file opened for one scan.
type connection struct {
	sql    *sql.Conn
	handle uintptr // SQLite's own
}

// secure lets the connection read and nothing else, and finds its handle. It is called by sql.Conn.Raw.
func (c *connection) secure(driverConn any) error {
	authorizer, ok := driverConn.(sqlite.AuthorizerRegisterer)
	if !ok {
		return errDriver
	}
	if err := authorizer.RegisterAuthorizer(readsOnly); err != nil {
		return err
	}
	// The driver interrupts a statement only until its first row. Between rows it can work as long, so we do that
	// ourselves, and the driver has no other way to its handle.
	field := reflect.Indirect(reflect.ValueOf(driverConn)).FieldByName("db")
	if field.Kind() != reflect.Uintptr || field.Uint() == 0 {
		return errDriver
	}
	c.handle = uintptr(field.Uint())
	return nil
}

// readsOnly is asked for everything that a statement would do, when it is compiled.
func readsOnly(action sqlite.AuthorizerActionCode, pragma, _, _, _ string) sqlite.AuthorizerReturnCode {
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

func (c *connection) close() { _ = c.sql.Close() }
