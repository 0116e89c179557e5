package preview

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tallyman/engine/trial"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/rules/schedule"
	"tallyman/scanners"
)

// The bounds of a recorded test.
const (
	mostRecorded = 1000 // Rows.
	mostSteps    = 12   // Steps until all pending findings have fired.
)

// RecordOptions says where a recorded test goes, and which columns it masks.
type RecordOptions struct {
	Path  string   // The path of the test file. Paths in the file are relative to its folder.
	Types string   // The path of the type catalogue.
	Mask  []string // The columns whose values are replaced.
}

// Recording is a run as a rule test.
type Recording struct {
	YAML  []byte
	Notes []string // What the author of the test should know.
}

// step is one run of the test.
type step struct {
	at  time.Duration
	run *trial.Run
}

// Record makes a rule test of the run. The first step has the rows of the probe. Where findings are pending, more steps
// with the same rows follow until the findings fire. A test begins with nothing known. So it expects what the rows
// cause in a rule that runs for the first time.
func (p *Preview) Record(ctx context.Context, o RecordOptions) (*Recording, error) {
	rows := p.run.Rows
	switch {
	case p.run.Run.Outcome == ledger.OutcomeFailed:
		return nil, errors.New("the run failed: there is nothing to record")
	case len(p.run.Commits) > 1:
		return nil, fmt.Errorf("the run took %d scans of max_rows each; only a run with one scan can be recorded", len(p.run.Commits))
	case len(rows) > mostRecorded:
		return nil, fmt.Errorf("the probe returned %d rows, and a test holds %d at most: choose another time, or record a rule with a narrower probe", len(rows), mostRecorded)
	}
	var err error
	if len(o.Mask) > 0 {
		if rows, err = p.masked(o.Mask); err != nil {
			return nil, err
		}
	}
	for i, r := range rows {
		if err := writable(r); err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
	}
	steps, err := p.replay(ctx, rows)
	if err != nil {
		return nil, fmt.Errorf("run the rule on the recorded rows: %w", err)
	}
	f := testFile{rule: p.trial.Program().Rule(), source: p.req.Name, due: p.req.Due, columns: p.trial.Columns(), rows: rows, steps: steps, mask: o.Mask}
	if f.rules, err = relative(o.Path, p.req.Rule.File); err != nil {
		return nil, err
	}
	if f.types, err = relative(o.Path, o.Types); err != nil {
		return nil, err
	}
	text, err := f.yaml()
	if err != nil {
		return nil, err
	}
	return &Recording{YAML: text, Notes: p.recordNotes(o.Mask, steps)}, nil
}

// masked returns the rows with masked columns. masked returns an error where the masks would change which rows meet the
// condition, or where another column shows a masked value.
func (p *Preview) masked(names []string) ([]*row.Row, error) {
	m, err := newMask(names, p.trial.Columns(), p.run.Rows, p.req.Due)
	if err != nil {
		return nil, err
	}
	if err := m.leaks(p.run.Rows); err != nil {
		return nil, err
	}
	masked := make([]*row.Row, len(p.run.Rows))
	for i, r := range p.run.Rows {
		masked[i] = m.row(r)
	}
	program := p.trial.Program()
	program.SetNow(p.req.Due)
	before, after := outcomes(program, p.req.Rule, p.run.Rows), outcomes(program, p.req.Rule, masked)
	for i := range before {
		if before[i] != after[i] {
			what := fmt.Sprintf("row %d, which %s", i+1, before[i])
			if p.req.Rule.Per == rules.PerResult {
				what = "the result, which " + before[i]
			}
			return nil, fmt.Errorf("the masks would change the outcome of %s; leave the columns of `when` out of --mask: %s",
				what, strings.Join(p.judgedBy(program, m), ", "))
		}
	}
	return masked, nil
}

// judgedBy returns the masked columns that the condition reads.
func (p *Preview) judgedBy(program *rules.Program, m *columnMask) []string {
	var names []string
	columns := p.trial.Columns()
	for i, uses := range program.Uses(columns) {
		if m.columns[i] && slices.Contains(uses, "when") {
			names = append(names, columns[i].Name)
		}
	}
	return names
}

// outcomes says for each row whether it meets the condition. For a rule with per: result it says so for the whole
// result.
func outcomes(program *rules.Program, r *rules.Rule, rows []*row.Row) []string {
	say := func(matches bool, err error) string {
		if err != nil {
			return "errs"
		}
		return map[bool]string{true: "matches", false: "does not match"}[matches]
	}
	if r.Per == rules.PerResult {
		return []string{say(program.MatchResult(rows))}
	}
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = say(program.Match(r))
	}
	return out
}

// writable returns an error for a value that a test file cannot express.
func writable(r *row.Row) error {
	for i, v := range r.Values {
		if k := v.Kind(); k != row.Time && k != row.Date {
			continue
		}
		if y := v.Time().Year(); y < 1 || y > 9999 {
			return fmt.Errorf("%s: a test cannot hold a time of the year %d", r.Columns[i].Name, y)
		}
	}
	return nil
}

// replay runs the rule on the rows, from nothing, until no finding is pending.
func (p *Preview) replay(ctx context.Context, rows []*row.Row) ([]step, error) {
	try, err := trial.New(p.req.Rule, &fixedSource{columns: p.trial.Columns(), rows: rows}, p.req.Types, trial.Start{})
	if err != nil {
		return nil, err
	}
	if err := try.Verify(ctx); err != nil {
		return nil, err
	}
	sched, err := schedule.Parse(p.req.Rule.Schedule.Cron, p.req.Rule.Schedule.Timezone)
	if err != nil {
		return nil, err
	}
	var steps []step
	for due := p.req.Due; ; due = sched.Next(due) {
		run, err := try.Run(ctx, due)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{due.Sub(p.req.Due), run})
		pending := slices.ContainsFunc(try.Findings(), func(f finding.State) bool { return f.Phase == finding.Pending })
		if !pending || run.Run.Outcome == ledger.OutcomeFailed {
			return steps, nil
		}
		if len(steps) == mostSteps {
			return steps[:1], nil // Too many steps for a test.
		}
	}
}

// recordNotes returns what the author of the test should know.
func (p *Preview) recordNotes(mask []string, steps []step) []string {
	var notes []string
	if last := steps[len(steps)-1]; len(steps) == 1 && last.run.Run.Pending > 0 {
		notes = append(notes, "the findings wait for more runs than a recorded test has: it expects no notice")
	}
	if p.Report.Start.From == FromLedger && p.Report.Start.Pending+p.Report.Start.Firing > 0 {
		notes = append(notes, "a test begins without known findings, so the test expects the notices of a first run")
	}
	for _, name := range mask {
		i := row.Index(p.trial.Columns(), strings.ToLower(strings.TrimSpace(name)))
		for _, r := range p.run.Rows {
			if v := r.Values[i].String(); v != "" && v == p.req.Rule.Scope {
				return append(notes, fmt.Sprintf("the value %s of %s is also the name of the scope, and the test shows that name", v, name))
			}
		}
	}
	return notes
}

// relative returns the path relative to the file's folder.
func relative(file, path string) (string, error) {
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return "", fmt.Errorf("find the folder of %s: %w", file, err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", fmt.Errorf("find %s: %w", path, err)
	}
	if rel, err := filepath.Rel(folder, path); err == nil {
		path = rel
	}
	return filepath.ToSlash(path), nil
}

// fixedSource is a source that answers every probe with the same rows.
type fixedSource struct {
	columns []row.Column
	rows    []*row.Row
}

// Prepare implements scanners.Source.
func (f *fixedSource) Prepare(context.Context, *probe.Statement) (scanners.PreparedProbe, error) {
	return f, nil
}

// Ping implements scanners.Source.
func (f *fixedSource) Ping(context.Context) error { return nil }

// Close implements scanners.Source.
func (f *fixedSource) Close() error { return nil }

// Columns implements scanners.PreparedProbe.
func (f *fixedSource) Columns() []row.Column { return f.columns }

// Scan implements scanners.PreparedProbe.
func (f *fixedSource) Scan(_ context.Context, _ scanners.Request, visit func(*row.Row) error) (scanners.Result, error) {
	for i, r := range f.rows {
		if err := visit(r); err != nil {
			return scanners.Result{Rows: i}, err
		}
	}
	return scanners.Result{Rows: len(f.rows)}, nil
}
