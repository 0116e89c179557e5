package scannertest

import (
	"context"
	"testing"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// Database is one database under test, fresh and empty.
type Database interface {
	// Exec runs statements as the database's owner.
	Exec(t testing.TB, sql string)
	// Open returns a source on it that runs at most maxConnections scans at once; it is closed when the test ends.
	Open(t testing.TB, maxConnections int) scanners.Source
	// Limited is Open for one connection, with other limits than the usual ones.
	Limited(t testing.TB, limits scanners.Limits) scanners.Source
	// Cut takes the database out of reach, and Restore brings it back with its tables.
	Cut(t testing.TB)
	Restore(t testing.TB)
}

// Dialect says how the database differs from the others.
type Dialect struct {
	New func(t testing.TB) Database
	// Types names the column types of the sample table: bool, small, big, ratio, decimal, text, bytes, date, time,
	// zoned, json.
	Types map[string]string
	Kinds map[string]row.Kind // of those columns of Types that the database does not see as what they are
	Bytes string              // the literal of the bytes 00 ff
	Zoned string              // the literal of 2026-06-01T08:00:00+08:00
	// Series is a SELECT of n rows with the columns n (1 … n), sku, qty (a decimal) and note. %d stands for n.
	Series string
	// Repeat is an expression for a text of %d ASCII characters, which the database makes when the statement runs. LargeSetup has the database
	// make large ones.
	Repeat     string
	LargeSetup string
	// Untold tells that the column of a value that is larger than the limit of a row is not known.
	Untold bool
	// Stream is how many rows a long scan has; 0 = a million.
	Stream int
	// Endless is a SELECT that runs for hours before its first row, Trickle one that runs for hours after its first.
	Endless, Trickle string
	// Writers set up functions, and call them in SELECTs that must be refused as writes. May be empty.
	WriterSetup string
	Writers     []string
	// Leaks are SELECTs that try to change the session; State returns one text, the same before and after them.
	LeakSetup string
	Leaks     []string
	State     string

	// What the driver does not do beside scanning; each stands here, so that a method that is forgotten fails the suite.
	NoSessions, NoExplain, NoInspect bool
	// Schema is that of the tables that a test makes, as it stands before their names. A Database that has a method Schema is asked instead.
	Schema string
	// StagedInSchema tells that a staged table stands before the real one also where its schema is named.
	StagedInSchema bool
	// Stock makes the table stock: id, the primary key that the database numbers, wh_id and bin_code (NOT NULL, unique together),
	// qty (a decimal, NOT NULL, below 1000), reserved (a decimal, NOT NULL, 0 by default), free (generated: qty - reserved).
	Stock string
}

// schema returns the schema of the tables that a test makes.
func schema(db Database, d Dialect) string {
	if named, ok := db.(interface{ Schema() string }); ok {
		return named.Schema()
	}
	return d.Schema
}

// Run runs the suite.
func Run(t *testing.T, d Dialect) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Dialect){
		"columns": columns, "values": values, "statement": statement, "params": params, "builtins": builtins,
		"watermark": watermark, "row cap": rowCap, "visit stops": visitStops, "timeout": timeout, "cancel": cancel,
		"read only": readOnly, "session": session, "concurrent": concurrent, "stream": stream, "reach": reach,
		"sessions/snapshot": snapshot, "sessions/guards": sessionGuards, "sessions/goes on": sessionGoesOn, "sessions/over": sessionOver,
		"sessions/staged kinds": stagedKinds, "sessions/staged like": stagedLike, "sessions/staged faults": stagedFaults,
		"sessions/bypass": bypass, "explain": explain, "inspect": inspect, "names": names, "limits": limits, "sessions/limits": sessionLimits,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

// Parse returns the statement of SQL that is without fault.
func Parse(t testing.TB, sql string) *probe.Statement {
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

// Prepare prepares SQL that must be fine.
func Prepare(t testing.TB, s Preparer, sql string) scanners.PreparedProbe {
	t.Helper()
	p, err := s.Prepare(t.Context(), Parse(t, sql))
	if err != nil {
		t.Fatalf("prepare %s: %v", sql, err)
	}
	return p
}

// Rows scans to the end and returns the rows.
func Rows(t testing.TB, p scanners.PreparedProbe, args map[string]any) []*row.Row {
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

// One is the text of the only value of a query that has one.
func One(t testing.TB, s Preparer, sql string, args map[string]any) string {
	t.Helper()
	rows := Rows(t, Prepare(t, s, sql), args)
	if len(rows) != 1 || len(rows[0].Values) != 1 {
		t.Fatalf("%s: %d rows", sql, len(rows))
	}
	return rows[0].Values[0].String()
}

func ignore(*row.Row) error { return nil }
