package scanners

import (
	"context"
	"time"

	"tallyman/rules/probe"
	"tallyman/rules/row"
)

// Source is one configured database. It never writes to it.
type Source interface {
	// Prepare checks the statement on the live database without running it and returns its columns,
	// folded to lower case. Errors are Permanent (the statement is wrong) or Transient (out of reach).
	Prepare(ctx context.Context, stmt *probe.Statement) (Prepared, error)
	Ping(ctx context.Context) error
	Close() error
}

// Prepared is a checked statement, safe for concurrent use.
type Prepared interface {
	Columns() []row.Column
	// Scan runs the statement in a read-only transaction that is always rolled back and calls visit
	// for each row. The row and its texts are valid during the call only. It stops early when visit
	// returns an error, which Scan returns unwrapped.
	Scan(ctx context.Context, req Request, visit func(*row.Row) error) (Result, error)
}

// Request is one scan.
type Request struct {
	Args    map[string]any // by parameter name: string, int64, float64, bool, time.Time, row.Value or nil
	Timeout time.Duration  // 0 = the source's statement_timeout
	MaxRows int            // rows to visit at most; 0 = no cap
}

// Result is what a scan saw.
type Result struct {
	Rows int  // rows visited
	More bool // there was at least one row beyond MaxRows
}
