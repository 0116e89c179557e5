package sourcetest

import (
	"context"
	"fmt"
	"regexp"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

// suiteTables finds the tables of the suite where a statement reads or makes them.
var suiteTables = regexp.MustCompile(`\b(FROM|JOIN|INTO|TABLE) (sample|smaple|moves)\b`)

// named writes the schema before the tables of the suite, where the server does not find them by their names.
func (d *database) named(sql string) string {
	if d.schema.Bare {
		return sql
	}
	return suiteTables.ReplaceAllString(sql, "$1 "+d.schema.Schema+".$2")
}

// bareSource is what a source does whose server does not find the tables by their names alone.
type bareSource interface {
	scanners.Source
	scanners.Namer
	scanners.Clock
}

// namedSource is such a source under test.
type namedSource struct {
	bareSource
	database *database
}

// Prepare prepares the statement with the schema before the names of tables.
func (s *namedSource) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.PreparedProbe, error) {
	named, faults := probe.Parse(s.database.named(stmt.Text))
	if len(faults) > 0 {
		return nil, fmt.Errorf("%+v", faults) // the suite's statement had none
	}
	return s.bareSource.Prepare(ctx, named)
}
