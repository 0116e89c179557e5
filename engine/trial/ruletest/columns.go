package ruletest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tallyman/rules"
	"tallyman/rules/condition"
	"tallyman/rules/message"
	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// stagedColumn is a column of a test's rows or tables, with its possible kinds, the most likely first.
type stagedColumn struct {
	name  string
	kinds []row.Kind
}

// gather returns the columns of the rows, sorted by name. said has the kinds that the author gives, keyed by prefix +
// name or by the name alone.
func gather(rows []cells, said map[string]row.Kind, prefix string, fail func(cells, string, string)) []stagedColumn {
	values := map[string][]cell{}
	for _, r := range rows {
		for name, c := range r.values {
			values[name] = append(values[name], c)
		}
	}
	for name := range said {
		if own, ok := strings.CutPrefix(name, prefix); ok && !strings.Contains(own, ".") && (values[own] == nil) {
			values[own] = []cell{}
		}
	}
	var columns []stagedColumn
	for _, name := range slices.Sorted(maps.Keys(values)) {
		kind, known := said[prefix+name]
		if !known && prefix != "" {
			kind, known = said[name]
		}
		if known {
			columns = append(columns, stagedColumn{name, []row.Kind{kind}})
			continue
		}
		kinds, mixed := kindsOf(values[name])
		if mixed != "" {
			fail(rows[0], fmt.Sprintf("the column %s holds %s", name, mixed), fmt.Sprintf("say what it is: columns: {%s%s: decimal}", prefix, name))
		}
		columns = append(columns, stagedColumn{name, kinds})
	}
	return columns
}

// kindsOf returns the possible kinds of a column with these values. The result mixed says which values cannot be in one
// column. Empty means all can.
func kindsOf(values []cell) (kinds []row.Kind, mixed string) {
	kind, other := row.Null, row.Null // kind joins the kinds of the values as written. other joins the kinds of the second meanings of texts (cell.other).
	texts, readable := 0, 0
	for _, c := range values {
		if c.value.IsNull() {
			continue
		}
		joined, ok := together(kind, c.value.Kind())
		switch {
		case c.value.Kind() == row.Text:
			texts++
			if o, ok := together(other, c.other.Kind()); ok && !c.other.IsNull() {
				other = o
				readable++
			}
		case ok:
			kind = joined
		default:
			return []row.Kind{kind}, fmt.Sprintf("values of kind %s and of kind %s", kind, c.value.Kind())
		}
	}
	switch {
	case texts == 0 && kind == row.Null:
		return unknown, ""
	case texts == 0:
		return []row.Kind{kind}, ""
	case kind == row.Null && readable < texts:
		return []row.Kind{row.Text}, ""
	case kind == row.Null:
		return []row.Kind{row.Text, other}, ""
	}
	if both, ok := together(kind, other); ok && readable == texts {
		return []row.Kind{both}, "" // For example -3 and "-3.50", which are both numbers.
	}
	return []row.Kind{row.Text}, fmt.Sprintf("texts and values of kind %s", kind)
}

// unknown are the possible kinds of a column without values.
var unknown = []row.Kind{row.Null, row.Text, row.Decimal, row.Time, row.Bool}

// together returns the kind of a column that can hold values of both kinds.
func together(a, b row.Kind) (row.Kind, bool) {
	switch {
	case a == b || b == row.Null:
		return a, true
	case a == row.Null:
		return b, true
	case a.IsNumber() && b.IsNumber():
		return row.Decimal, true
	case (a == row.Time || a == row.Date) && (b == row.Time || b == row.Date):
		return row.Time, true
	}
	return a, false
}

// How many combinations of kinds are tried before the author has to give the kinds.
const (
	mostTries = 2000
	fewTries  = 200 // When each try asks a database.
)

// solve finds kinds of the columns with which try has no problems. solve changes as few columns as possible from their
// most likely kinds. Where every combination has problems, it returns the combination with the fewest.
func solve(columns []stagedColumn, most int, try func([]row.Kind) (problem.List, error)) ([]row.Kind, problem.List, error) {
	kinds := make([]row.Kind, len(columns))
	for i, c := range columns {
		kinds[i] = c.kinds[0]
	}
	best := slices.Clone(kinds)
	fewest, err := try(kinds)
	if err != nil || len(fewest) == 0 {
		return best, nil, err
	}
	tries := 1
	// change tries other kinds for `many` of the columns at index i and later. change returns whether the search is
	// over.
	var change func(i, many int) (bool, error)
	change = func(i, many int) (bool, error) {
		if many == 0 {
			problems, err := try(kinds)
			if err != nil {
				return true, err
			}
			if len(problems) < len(fewest) {
				best, fewest = slices.Clone(kinds), problems
			}
			tries++
			return len(problems) == 0 || tries >= most, nil
		}
		for ; i < len(columns); i++ {
			for _, kind := range columns[i].kinds[1:] {
				kinds[i] = kind
				over, err := change(i+1, many-1)
				kinds[i] = columns[i].kinds[0]
				if over || err != nil {
					return true, err
				}
			}
		}
		return false, nil
	}
	for many := 1; many <= len(columns); many++ {
		if over, err := change(0, many); over || err != nil {
			return best, fewest, err
		}
	}
	return best, fewest, nil
}

// used returns the columns that a rule names, sorted.
func used(r *rules.Rule) []string {
	names := slices.Concat(r.Key, r.GroupBy, r.NotifyAgainOn)
	if r.SplitBy != "" {
		names = append(names, r.SplitBy)
	}
	if w := r.Probe.Watermark; w != nil {
		names = append(names, w.Columns...)
	}
	sources := append([]string{r.When, r.Notice.Warehouse, r.Notice.Priority}, slices.Collect(maps.Values(r.Notice.Fields))...)
	for _, d := range r.Deliver {
		sources = append(sources, d.At, d.When)
	}
	for _, src := range sources {
		columns, members, err := condition.Names(src)
		if err != nil {
			continue // The expression is empty. All others were checked when the rule was loaded.
		}
		if r.Per == rules.PerResult {
			columns = members
		}
		names = append(names, columns...)
	}
	parse := message.Parse
	if r.Per == rules.PerResult || r.GroupBy != nil {
		parse = message.ParseRows
	}
	for _, texts := range []map[string]string{r.Notice.Title, r.Notice.Body} {
		for _, src := range texts {
			if t, faults := parse(src); len(faults) == 0 {
				names = append(names, t.Columns()...)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// fixtures are the tables of a file, keyed by folded name. A table has the same columns in all tests, so a test may
// leave out columns that another test has.
type fixtures map[string][]stagedColumn

// folded returns the name of a table in lower case. A name in quotes keeps its case, as in SQL.
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
		for column, kind := range said { // A name without a table counts for every table that has the column.
			if strings.Contains(column, ".") || slices.ContainsFunc(list, func(c cells) bool { _, has := c.values[column]; return has }) {
				own[column] = kind
			}
		}
		all[name] = gather(list, own, name+".", fail)
	}
	return all
}

// slots returns the columns of the tables that a test reads, in one list for solve.
func (f fixtures) slots(tables []string) []stagedColumn {
	var list []stagedColumn
	for _, name := range tables {
		list = append(list, f[name]...)
	}
	return list
}

// stage makes the tables of a step. kinds has the kinds of the columns in the order of slots.
func (f fixtures) stage(tables []string, kinds []row.Kind, s *Step) ([]scanners.StagedTable, *cellFault, cells) {
	var staged []scanners.StagedTable
	for _, name := range tables {
		t := scanners.StagedTable{Table: name}
		for _, c := range f[name] {
			kind := kinds[0]
			kinds = kinds[1:]
			if kind == row.Null {
				kind = row.Text // The column has no value, so any kind will do.
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

// line returns the row's values in the order of the columns. A missing value is NULL.
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
func describe(ctx context.Context, sessions scanners.Sessions, staged []scanners.StagedTable, stmt *probe.Statement) (columns []row.Column, err error) {
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
