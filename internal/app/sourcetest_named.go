package app

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
func (d *testedDatabase) named(sql string) string {
	if d.schema.Bare {
		return sql
	}
	return suiteTables.ReplaceAllString(sql, "$1 "+d.schema.Schema+".$2")
}

// namedSource is a source that does not find the tables of the suite by their names alone.
type namedSource struct {
	scanners.Source
	database *testedDatabase
}

// Prepare prepares the statement with the schema before the names of tables.
func (s *namedSource) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.PreparedProbe, error) {
	named, faults := probe.Parse(s.database.named(stmt.Text))
	if len(faults) > 0 {
		return nil, fmt.Errorf("%+v", faults) // the suite's statement had none
	}
	return s.Source.Prepare(ctx, named)
}

// Names implements scanners.Namer.
func (s *namedSource) Names() string {
	namer, ok := s.Source.(scanners.Namer)
	if !ok {
		return ""
	}
	return namer.Names()
}
