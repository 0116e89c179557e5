package sqldb

import (
	"context"
	"database/sql"
	"time"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// Dialect is what one kind of database does its own way. It is safe for concurrent use.
type Dialect interface {
	// Style is how the database writes parameters.
	Style() probe.Style
	// Begin makes the connection ready and starts a transaction on it that cannot write, in which no statement runs longer
	// than the timeout where the server has a clock for that.
	Begin(ctx context.Context, conn *sql.Conn, timeout time.Duration) (Transaction, error)
	// Bind makes of a parameter's value what the driver sends.
	Bind(v row.Value) (any, error)
	// Answer judges an error that came from the server; nil where it did not. Code is what an error comes to that has no
	// code of its own: the statement's fault while it is prepared, the data's while it runs.
	Answer(err error, code scanners.Code) *scanners.Error
}

// Transaction is one transaction on one connection. It is not safe for concurrent use.
type Transaction interface {
	// Next makes the session as it was before its first statement, for one more that runs no longer than the timeout. It is for sessions
	// only, which have several.
	Next(ctx context.Context, timeout time.Duration) error
	// Describe has the database look at the statement, without running it, and returns the columns of its result.
	Describe(ctx context.Context, stmt *probe.Statement, sql string) ([]Column, error)
	// Query runs a statement. The caller closes the rows and then calls free.
	Query(ctx context.Context, sql string, args []any) (rows *sql.Rows, free func(), err error)
	// Stop makes the server give up the statement that runs, whose rows are not wanted any more. Where that is not possible, or only
	// with the connection, it calls cancel, which ends the context of Query.
	Stop(ctx context.Context, cancel context.CancelFunc)
	// End rolls back and leaves the connection as if nothing had been on it. After an error the connection is closed.
	End(ctx context.Context) error
	// Abandon ends what still runs on the server. It is called after a statement's context has ended and its connection was closed.
	Abandon(ctx context.Context)
}

// Column is a column as the database describes it; its name may be in any case.
type Column struct {
	row.Column
	Convert Convert
	Most    int // bytes that a value of the column may have, as the database describes it; 0 = any number, or not known
}

// Convert makes a value of what the driver returns for a column, which is not nil. A []byte is the driver's: what is kept
// of it goes through Texts.
type Convert func(dst *row.Value, src any, texts *Texts) error

// Texts holds the texts of one row, in memory that is used again for the next.
type Texts struct{ buffer []byte }
