package scannertest

import (
	"context"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// T is where a check reports to: a *testing.T, or the recorder of Judge.
type T interface {
	Helper()
	Context() context.Context
	Cleanup(f func())
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Skip(args ...any)
}

// Database is one database under test. Database is new and empty if checks create tables in it.
type Database interface {
	// Exec runs statements as the database's owner.
	Exec(t T, sql string)
	// Open returns a source on the database. The source runs at most maxConnections scans at once, and is closed at the
	// end of the test.
	Open(t T, maxConnections int) scanners.Source
	// Limited is Open for one connection and with these limits.
	Limited(t T, limits scanners.Limits) scanners.Source
	// Cut makes the database unavailable. Restore makes it available again, with its tables.
	Cut(t T)
	Restore(t T)
}

// Need is what a check needs of the database.
type Need int

// The needs. Each need includes the needs before it.
const (
	Selects Need = iota // SELECTs of rows that the statement itself makes
	Tables              // tables, views and rows, in a schema of the suite's own
	// Own is a server that belongs to the suite: functions that write, settings of the server, a network that can be cut
	Own
)

// Check is one part of the suite.
type Check struct {
	Name  string
	Needs Need
	Run   func(T, Dialect)
}

// Checks returns the parts of the suite. The checks with the smallest needs come first.
func Checks() []Check {
	return []Check{
		{"ping", Selects, ping},
		{"clock", Selects, clock},
		{"kinds", Selects, kinds},
		{"nulls", Selects, nulls},
		{"parameters", Selects, parameters},
		{"names of columns", Selects, columnNames},
		{"built-in times", Selects, builtinTimes},
		{"statement", Selects, statement},
		{"writes are refused", Selects, guard},
		{"row cap", Selects, rowCap},
		{"visit stops", Selects, visitStops},
		{"timeout", Selects, timeout},
		{"cancel", Selects, cancel},
		{"concurrent", Selects, concurrent},
		{"stream", Selects, stream},
		{"limits", Selects, limits},
		{"columns", Tables, columns},
		{"values", Tables, values},
		{"params", Tables, params},
		{"builtins", Tables, builtins},
		{"watermark", Tables, watermark},
		{"names", Tables, names},
		{"explain", Tables, explain},
		{"inspect", Tables, inspect},
		{"sessions/snapshot", Tables, snapshot},
		{"sessions/goes on", Tables, sessionGoesOn},
		{"sessions/over", Tables, sessionOver},
		{"sessions/staged kinds", Tables, stagedKinds},
		{"sessions/staged like", Tables, stagedLike},
		{"sessions/staged faults", Tables, stagedFaults},
		{"sessions/bypass", Tables, bypass},
		{"read only", Own, readOnly},
		{"session", Own, session},
		{"reach", Own, reach},
		{"large limits", Own, largeLimits},
		{"sessions/guards", Own, sessionGuards},
		{"sessions/limits", Own, sessionLimits},
	}
}

// Run makes every check, each as a test of its own.
func Run[X interface {
	T
	Parallel()
	Run(name string, test func(X)) bool
}](t X, d Dialect) {
	t.Helper()
	for _, c := range Checks() {
		t.Run(c.Name, func(t X) {
			t.Parallel()
			c.Run(t, d)
		})
	}
}

// Parse parses SQL that must have no faults.
func Parse(t T, sql string) *probe.Statement {
	t.Helper()
	stmt, faults := probe.Parse(sql)
	if len(faults) > 0 {
		t.Fatalf("%s: %+v", sql, faults)
	}
	return stmt
}

// Preparer is a Source or a Session.
type Preparer interface {
	Prepare(ctx context.Context, stmt *probe.Statement) (scanners.PreparedProbe, error)
}

// Prepare prepares SQL that must be accepted.
func Prepare(t T, s Preparer, sql string) scanners.PreparedProbe {
	t.Helper()
	p, err := s.Prepare(t.Context(), Parse(t, sql))
	if err != nil {
		t.Fatalf("prepare %s: %v", sql, err)
	}
	return p
}

// Rows scans to the end and returns the rows.
func Rows(t T, p scanners.PreparedProbe, args map[string]any) []*row.Row {
	t.Helper()
	var rows []*row.Row
	result, err := p.Scan(t.Context(), scanners.Request{Args: args}, func(r *row.Row) error {
		rows = append(rows, r.Clone())
		return nil
	})
	if err != nil {
		t.Fatalf("scan: %v", err)
	}
	if result.Rows != len(rows) || result.More {
		t.Fatalf("%d rows were visited, the result is %+v", len(rows), result)
	}
	return rows
}

// One returns the text of the only value of a query.
func One(t T, s Preparer, sql string, args map[string]any) string {
	t.Helper()
	rows := Rows(t, Prepare(t, s, sql), args)
	if len(rows) != 1 || len(rows[0].Values) != 1 {
		t.Fatalf("%s: %d rows", sql, len(rows))
	}
	return rows[0].Values[0].String()
}

func ignore(*row.Row) error { return nil }
