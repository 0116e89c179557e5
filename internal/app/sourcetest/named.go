package sourcetest

import (
	"context"
	"fmt"
	"regexp"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

// suiteTables matches the tables of the suite in a statement that reads or makes them.
var suiteTables = regexp.MustCompile(`\b(FROM|JOIN|INTO|TABLE) (sample|smaple|moves)\b`)

// named puts the schema before the tables of the suite, where the server does not find a table by its name alone.
func (d *database) named(sql string) string {
	if d.schema.Bare {
		return sql
	}
	return suiteTables.ReplaceAllString(sql, "$1 "+d.schema.Schema+".$2")
}

// bareSource lists the methods of a source whose server does not find a table by its name alone.
type bareSource interface {
	scanners.Source
	scanners.Namer
	scanners.Clock
}

// namedSource is a bareSource that puts the schema before the names of tables.
type namedSource struct {
	bareSource
	database *database
}

// Prepare prepares the statement with the schema before the names of tables.
func (s *namedSource) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.PreparedProbe, error) {
	named, faults := probe.Parse(s.database.named(stmt.Text))
	if len(faults) > 0 {
		return nil, fmt.Errorf("%+v", faults) // Not expected: the statement had no faults before.
	}
	return s.bareSource.Prepare(ctx, named)
}
