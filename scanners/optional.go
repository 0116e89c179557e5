package scanners

import (
	"context"
	"fmt"

	"tallyman/rules/probe"
	"tallyman/rules/row"
)

// What follows a Source may be able to do beside scanning. Callers ask with a type assertion and say which
// driver cannot.

// Explainer is a Source whose database says beforehand what a statement will cost.
type Explainer interface {
	// Explain asks for the plan of the statement with those arguments (see Request.Args) and does not run it.
	Explain(ctx context.Context, stmt *probe.Statement, args map[string]any) (Plan, error)
}

// Plan is how a database would run a statement.
type Plan struct {
	Cost  float64 // total, in the database's own unit
	Shape string  // the plan's steps without costs and counts, such as "Index Scan bin_stock_pkey": alike for alike plans
}

// Sessions is a Source that opens sessions.
type Sessions interface {
	// Session begins a read-only transaction over one snapshot of the database. In it the staged tables stand before
	// those of their names. Errors are as those of Prepare; CodeStage where a table cannot be staged.
	Session(ctx context.Context, staged []Staged) (Session, error)
}

// Session is one read-only transaction over one snapshot: all statements see the same data. Close rolls it back, with
// everything that was staged. It is not safe for concurrent use.
type Session interface {
	Prepare(ctx context.Context, stmt *probe.Statement) (Prepared, error)
	Close() error
}

// Staged is a table that a session holds for itself, in the place of the database's own. Columns that it does not name keep the
// type and the default that the real table gives them and may be NULL, but for those that the database numbers, which
// count the rows from 1. A database that has no such table gets one whose columns have the kinds of Columns. Keys, checks and
// triggers of the real table do not apply.
type Staged struct {
	Table   string        // as a statement writes it, without a schema
	Columns []row.Column  // only Name and Kind count
	Rows    [][]row.Value // by column
}

// Auditor is a Source whose database says what the source's user may do beside reading.
type Auditor interface {
	// Dangers returns the functions and rights whose effect no rollback undoes, sorted by name.
	Dangers(ctx context.Context) ([]Danger, error)
}

// Danger is a function that the source's user may execute though no probe needs it, or a right that does more than read.
type Danger struct {
	Name   string `json:"name"`   // of the function with its arguments, or of the right
	Does   string `json:"does"`   // with a verb: "acts on the server"
	Revoke string `json:"revoke"` // the SQL by which a DBA takes it away
}

// Inspector is a Source whose catalogue can be read. Names are as a statement writes them: quoted where they have to be.
type Inspector interface {
	// Tables returns the names of tables and views that probes may read, sorted; those outside the default schema with it.
	Tables(ctx context.Context) ([]string, error)
	// Table describes one. *Error with CodeTable where there is none.
	Table(ctx context.Context, name string) (Table, error)
}

// Table is a table or view as the catalogue has it.
type Table struct {
	Name       string       // as Tables has it
	Columns    []row.Column // Kind is row.Null where a probe has to CAST the column
	PrimaryKey []string     // column names in order; nil where there is none, as for a view
	Unique     [][]string   // column names of the other unique indexes that hold for every row
}

// UnknownTable is the error of an Inspector that is asked for a table that is not there.
func UnknownTable(name string) *Error {
	return &Error{Code: CodeTable, Err: fmt.Errorf("there is no table or view %s that the source's user may read", name)}
}
