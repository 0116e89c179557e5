package ruletest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/condition"
	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// plan is a test that is ready to run, or the failure that says why it cannot run.
type plan struct {
	script  *script
	scenes  []stepScene // One for each step.
	types   catalog.Catalog
	failure *Failure
}

// planner makes a plan.
type planner struct {
	*suite
	test   *Test
	rule   *rules.Rule
	engine string   // The name of the real engine. Empty means SQLite in memory.
	db     Database // Nil where no step has tables and there is no real engine.
	stmt   *probe.Statement

	columns []row.Column // The columns of the probe.
	types   catalog.Catalog
}

func (r *runner) plan(ctx context.Context, s *suite, t *Test, rule *rules.Rule) (*plan, error) {
	p := &planner{suite: s, test: t, rule: rule, engine: r.Engine}
	stmt, faults := rule.Probe.Statement()
	if len(faults) > 0 {
		return nil, fmt.Errorf("rule %s: %s", rule.ID, faults[0].Message) // Not expected: the rule was loaded.
	}
	p.stmt = stmt
	if r.Source != nil || t.queries() {
		db, err := r.database()
		if err != nil {
			return nil, err
		}
		p.db = db
	}
	kinds, problems, err := p.solve(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(problems) > 0:
		f := s.failure(t, fmt.Sprintf("%s does not run on what the test gives", rule.ID), problems)
		return &plan{failure: &f}, nil
	}
	made := &plan{script: p.script(), types: p.types}
	for _, step := range t.Steps {
		scene, failure := p.scene(step, kinds)
		if failure != nil {
			return &plan{failure: failure}, nil
		}
		made.scenes = append(made.scenes, scene)
	}
	return made, nil
}

func (p *planner) script() *script {
	s := &script{columns: p.columns, sessions: p.db}
	if w := p.rule.Probe.Watermark; w != nil {
		for _, name := range w.Columns {
			s.watermark = append(s.watermark, row.Index(p.columns, name))
			s.marks = append(s.marks, "wm_"+name)
		}
	}
	return s
}

// solve finds the columns of the probe. Where the test has tables it also returns the kinds of the tables' columns.
func (p *planner) solve(ctx context.Context) ([]row.Kind, problem.List, error) {
	tables := p.test.tables()
	switch {
	case p.db == nil:
		slots := p.given()
		kinds, problems, err := solve(slots, mostTries, func(kinds []row.Kind) (problem.List, error) {
			return p.compile(columnsOf(slots, kinds)), nil
		})
		if err == nil && len(problems) == 0 {
			problems = p.compile(columnsOf(slots, kinds))
		}
		return kinds, p.explain(problems), err
	case !p.test.queries():
		problems, err := p.prepare(ctx)
		return nil, problems, err
	}
	slots := p.tables.slots(tables)
	try := func(kinds []row.Kind) (problem.List, error) {
		// Only the columns of the tables matter, so the tables get no rows.
		staged, _, _ := p.tables.stage(tables, kinds, &Step{})
		columns, err := describe(ctx, p.db, staged, p.stmt)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return p.cannot(err)
		}
		return p.compile(columns), nil
	}
	kinds, problems, err := solve(slots, fewTries, try)
	if err == nil && len(problems) == 0 {
		problems, err = try(kinds)
	}
	return kinds, problems, err
}

// cannot returns a problem where the source refuses the statement, and an error where the source is out of reach.
func (p *planner) cannot(err error) (problem.List, error) {
	if e, ok := errors.AsType[*scanners.Error](err); ok && !e.Transient {
		return p.refused(e), nil
	}
	return nil, err
}

// prepare gets the columns from the real engine.
func (p *planner) prepare(ctx context.Context) (problem.List, error) {
	prepared, err := p.db.Prepare(ctx, p.stmt)
	if err != nil {
		return p.cannot(err)
	}
	return p.compile(prepared.Columns()), nil
}

// refused explains to the author of the test why the probe does not run on the tables.
func (p *planner) refused(e *scanners.Error) problem.List {
	where, hint := p.engine, e.Hint
	if where == "" {
		where, hint = "SQLite, on the test's tables", joinHints(hint, "if SQLite does not know this SQL, test the rule on the real engine: --source NAME")
	}
	return problem.List{p.rule.Problem("probe.sql", string(e.Code), fmt.Sprintf("the probe does not run on %s: %s", where, e.Err), hint)}
}

// compile checks the rule against the columns, and stores them as the columns of the probe.
func (p *planner) compile(columns []row.Column) problem.List {
	p.columns, p.types = columns, p.suite.types
	if p.types == nil {
		p.types = trusting(p.rule, columns)
	}
	_, problems := rules.Compile(p.rule, columns, p.types)
	return problems
}

// given returns the columns of the test's rows. For a test without rows it returns the columns of another test of the
// rule, or the columns that the rule names.
func (p *planner) given() []stagedColumn {
	rows := p.test.rows()
	for _, other := range p.Tests {
		if len(rows) == 0 && other.Rule == p.test.Rule {
			rows = other.rows()
		}
	}
	ignore := func(cells, string, string) {} // compile or scene reports values that do not fit.
	if len(rows) > 0 {
		return gather(rows, p.test.Columns, "", ignore)
	}
	columns := gather(nil, p.test.Columns, "", ignore)
	for _, name := range used(p.rule) {
		if !slices.ContainsFunc(columns, func(c stagedColumn) bool { return c.name == name }) {
			columns = append(columns, stagedColumn{name, unknown})
		}
	}
	return columns
}

func columnsOf(slots []stagedColumn, kinds []row.Kind) []row.Column {
	columns := make([]row.Column, len(slots))
	for i, c := range slots {
		columns[i] = row.Column{Name: c.name, Kind: kinds[i], Nullable: true, Zone: time.UTC}
	}
	return columns
}

// explain adds hints about the rows to the problems of the rule.
func (p *planner) explain(problems problem.List) problem.List {
	for i := range problems {
		switch problems[i].Code {
		case "expr_unknown_name", rules.CodeUnknownColumn:
			problems[i].Hint = joinHints(problems[i].Hint, "the rows of the test have to have every column that the rule uses")
		default:
			problems[i].Hint = joinHints(problems[i].Hint, "where the kind of a column is not that of the database, say it in the test: columns: {qty: decimal}")
		}
	}
	return problems
}

func joinHints(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// scene converts a step to the answer of the source.
func (p *planner) scene(step *Step, kinds []row.Kind) (stepScene, *Failure) {
	wrong := func(at cells, f *cellFault) *Failure {
		failure := p.failure(p.test, f.message, problem.List{p.yaml.Problem(at.node, CodeValue, f.message, f.hint)})
		return &failure
	}
	switch {
	case step.Fault != "":
		return stepScene{fault: faultOf(step.Fault)}, nil
	case step.Tables != nil:
		staged, bad, at := p.tables.stage(p.test.tables(), kinds, step)
		if bad != nil {
			return stepScene{}, wrong(at, bad)
		}
		return stepScene{staged: staged, tables: true}, nil
	}
	s := stepScene{}
	for _, r := range step.Rows {
		if f := p.fits(r); f != nil {
			return stepScene{}, wrong(r, f)
		}
		values, bad := r.line(p.columns)
		if bad != nil {
			return stepScene{}, wrong(r, bad)
		}
		s.rows = append(s.rows, values)
	}
	return s, nil
}

// fits compares the columns of a row with those of a prepared probe.
func (p *planner) fits(r cells) *cellFault {
	if p.db == nil {
		return nil // The columns come from the rows.
	}
	var names []string
	for _, c := range p.columns {
		names = append(names, c.Name)
		if _, ok := r.values[c.Name]; !ok {
			return &cellFault{fmt.Sprintf("the row has no %s, which the probe returns", c.Name), "write " + c.Name + ": null"}
		}
	}
	for _, name := range r.columns() {
		if !slices.Contains(names, name) {
			return &cellFault{"the probe returns no column " + name, nearest(name, names)}
		}
	}
	return nil
}

// trusting returns a catalogue with only the rule's type, and the fields that the rule fills. trusting is for test
// files without a catalogue: their notices are tested, but not against a type.
func trusting(r *rules.Rule, columns []row.Column) catalog.Catalog {
	t := catalog.Type{
		Code: r.Notice.Type, ID: 1, Name: r.Notice.Type, Retention: catalog.DefaultRetention, Fields: map[string]catalog.Field{},
	}
	compile := condition.Compile
	if r.Per == rules.PerResult {
		compile = condition.CompileResult
	}
	for name, src := range r.Notice.Fields {
		kind := row.Null
		if p, err := compile(src, columns); err == nil { // An error is reported when the rule is compiled.
			kind = p.Kind()
		}
		t.Fields[name] = catalog.Field{Type: fieldOf(kind)}
	}
	if r.Notice.Fields == nil && r.Per == rules.PerRow {
		for _, c := range columns {
			t.Fields[c.Name] = catalog.Field{Type: fieldOf(c.Kind)}
		}
	}
	return catalog.Catalog{t.Code: t}
}

// fieldOf returns the type of a field with values of the kind.
func fieldOf(kind row.Kind) catalog.FieldKind {
	switch kind {
	case row.Int:
		return catalog.Int
	case row.Decimal, row.Float:
		return catalog.Decimal
	case row.Bool:
		return catalog.Bool
	case row.Time, row.Date:
		return catalog.Time
	default:
		return catalog.String
	}
}
