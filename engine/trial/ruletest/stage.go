package ruletest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// fixtures are the tables of a file. A table has one shape in all its tests, so that one may leave out what another has.
type fixtures map[string][]stagedColumn

// folded is how a table is known: names in quotes keep their case, as in SQL.
func folded(table string) string {
	if strings.HasPrefix(table, `"`) {
		return table
	}
	return strings.ToLower(table)
}

// tablesOf gathers the tables of all tests of the file.
func tablesOf(f *File, fail func(cells, string, string)) fixtures {
	rows, said := map[string][]cells{}, map[string]row.Kind{}
	for _, t := range f.Tests {
		maps.Copy(said, t.Columns)
		for _, s := range t.Steps {
			for _, table := range s.Tables {
				name := folded(table.name)
				rows[name] = append(rows[name], table.rows...)
			}
		}
	}
	all := fixtures{}
	for name, list := range rows {
		own := map[string]row.Kind{}
		for column, kind := range said { // a bare name says what a column is where the table has it
			if strings.Contains(column, ".") || slices.ContainsFunc(list, func(c cells) bool { _, has := c.values[column]; return has }) {
				own[column] = kind
			}
		}
		all[name] = gather(list, own, name+".", fail)
	}
	return all
}

// slots are the columns of the tables that a test reads, in one list for solve.
func (f fixtures) slots(tables []string) []stagedColumn {
	var list []stagedColumn
	for _, name := range tables {
		list = append(list, f[name]...)
	}
	return list
}

// stage makes the tables of a step, their columns being of these kinds (those of slots).
func (f fixtures) stage(tables []string, kinds []row.Kind, s *Step) ([]scanners.Staged, *cellFault, cells) {
	var staged []scanners.Staged
	for _, name := range tables {
		t := scanners.Staged{Table: name}
		for _, c := range f[name] {
			kind := kinds[0]
			kinds = kinds[1:]
			if kind == row.Null {
				kind = row.Text // nothing is ever in it
			}
			t.Columns = append(t.Columns, row.Column{Name: c.name, Kind: kind, Nullable: true})
		}
		i := slices.IndexFunc(s.Tables, func(t tableRows) bool { return folded(t.name) == name })
		if i < 0 {
			staged = append(staged, t)
			continue
		}
		for _, r := range s.Tables[i].rows {
			values, fault := r.line(t.Columns)
			if fault != nil {
				return nil, fault, r
			}
			t.Rows = append(t.Rows, values)
		}
		staged = append(staged, t)
	}
	return staged, nil, cells{}
}

// line is the row in the order of the columns; what it does not have is NULL.
func (r cells) line(columns []row.Column) ([]row.Value, *cellFault) {
	values := make([]row.Value, len(columns))
	for i, c := range columns {
		v, ok := r.values[c.Name]
		if !ok {
			continue
		}
		var bad *cellFault
		if values[i], bad = v.as(c.Kind); bad != nil {
			bad.message = c.Name + ": " + bad.message
			return nil, bad
		}
	}
	return values, nil
}

// describe prepares the probe on the tables and returns its columns.
func describe(ctx context.Context, sessions scanners.Sessions, staged []scanners.Staged, stmt *probe.Statement) (columns []row.Column, err error) {
	session, err := sessions.Session(ctx, staged)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	prepared, err := session.Prepare(ctx, stmt)
	if err != nil {
		return nil, err
	}
	return prepared.Columns(), nil
}
