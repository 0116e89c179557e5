package ruletest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"tallyman/engine/trial"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
	"tallyman/rules/schedule"
	"tallyman/scanners"
)

// Options are the options of Run.
type Options struct {
	Types  catalog.Catalog          // For files without a catalogue. Nil means their rules' types are not checked.
	Memory func() (Database, error) // Makes an empty in-memory database for tables. It is called at most once.
	Source Database                 // The real engine to use instead of Memory. Nil means none.
	Engine string                   // The name of Source.
	Run    *regexp.Regexp           // Selects tests by name or rule. Nil means all.
	Cover  bool                     // Report what no test reaches.
	Extra  []string                 // More rule files and folders whose rules should have tests.
}

// Database is a source that tests may stage tables in.
type Database interface {
	scanners.Source
	scanners.Sessions
}

// Run runs the tests of the files. The report has every failed test. Run returns an error only where a database or
// another part of the environment fails.
func Run(ctx context.Context, files []*File, o Options) (*Report, error) {
	r := &runner{Options: o, report: &Report{Results: []Result{}, Problems: problem.List{}, Unchecked: []string{}}, sets: map[string]*rules.Set{}}
	if o.Cover {
		r.cover = newCoverage()
		for _, path := range o.Extra { // One by one, because two rule packs may have a rule with the same id.
			r.coverable(r.load([]string{path}))
		}
	}
	defer r.close()
	for _, f := range files {
		if err := r.file(ctx, f); err != nil {
			return nil, err
		}
	}
	r.report.Problems = tidy(r.report.Problems)
	if r.cover != nil {
		r.report.Cover = r.cover.sum()
	}
	return r.report, nil
}

type runner struct {
	Options
	report *Report
	sets   map[string]*rules.Set
	memory Database
	cover  *coverage
}

func (r *runner) close() {
	if r.memory != nil {
		_ = r.memory.Close() // The database is in memory and ends with the process anyway.
	}
}

// load reads rule files. Test files that name the same rule files share the result.
func (r *runner) load(paths []string) *rules.Set {
	key := fmt.Sprintf("%q", paths)
	if r.sets[key] == nil {
		r.sets[key] = rules.Load(paths)
		r.report.Problems = append(r.report.Problems, r.sets[key].Problems...)
	}
	return r.sets[key]
}

func (r *runner) coverable(set *rules.Set) {
	for _, rule := range set.Rules {
		r.cover.add(rule)
	}
}

// suite is a test file with its rules and types.
type suite struct {
	*File
	set    *rules.Set
	types  catalog.Catalog // Nil means types are not checked.
	tables fixtures
	bad    map[*Test]bool        // Tests with a problem, which the report has. They do not run.
	made   map[*Test]*rules.Rule // The rules of tests whose scope a query would list.
}

func (r *runner) file(ctx context.Context, f *File) error {
	r.report.Files++
	s := &suite{File: f, set: r.load(f.Rules), types: r.Types, bad: map[*Test]bool{}, made: map[*Test]*rules.Rule{}}
	if f.Types != "" {
		types, problems := catalog.Load(f.Types)
		s.types = types
		r.report.Problems = append(r.report.Problems, problems...)
	}
	if s.types == nil {
		r.report.Unchecked = append(r.report.Unchecked, f.Path)
	}
	if r.cover != nil {
		r.coverable(s.set)
	}
	r.check(s)
	for _, t := range f.Tests {
		if s.bad[t] || r.Run != nil && !r.Run.MatchString(t.Name) && !r.Run.MatchString(t.Rule) {
			continue
		}
		result := Result{File: f.Path, Line: t.node.Line, Name: t.Name, Rule: t.Rule, Scope: t.Scope, Failures: []Failure{}}
		if err := r.test(ctx, s, t, &result); err != nil {
			return err
		}
		r.report.Tests++
		r.report.Steps += result.Steps
		if len(result.Failures) > 0 {
			r.report.Failed++
		}
		r.report.Results = append(r.report.Results, result)
	}
	return nil
}

// database returns the database for tables: the real engine, or one in memory.
func (r *runner) database() (Database, error) {
	if r.Source != nil {
		return r.Source, nil
	}
	if r.memory == nil {
		if r.Memory == nil {
			return nil, errors.New("ruletest: no database for tables")
		}
		var err error
		if r.memory, err = r.Memory(); err != nil {
			return nil, err
		}
	}
	return r.memory, nil
}

// test runs one test. Failures of the test are in its result; an error means that the environment failed.
func (r *runner) test(ctx context.Context, s *suite, t *Test, result *Result) error {
	rule := s.find(t)
	p, err := r.plan(ctx, s, t, rule)
	if err != nil {
		return err
	}
	if p.failure != nil {
		result.Failures = append(result.Failures, *p.failure)
		return nil
	}
	try, err := trial.New(rule, p.script, p.types, trial.Start{})
	if err != nil {
		return err
	}
	if err := try.Verify(ctx); err != nil {
		return r.refused(s, t, result, err)
	}
	if r.cover != nil {
		r.cover.begin(rule, try.Columns())
	}
	for i, step := range t.Steps {
		due := t.Start.Add(step.At)
		p.script.play(p.scenes[i])
		run, err := try.Run(ctx, due)
		if err != nil {
			return r.refused(s, t, result, err)
		}
		result.Steps++
		if r.cover != nil {
			r.cover.see(rule, run, due)
		}
		o, err := outcomeOf(rule, run)
		if err != nil {
			return err
		}
		if f, failed := s.judge(t, step, o, due); failed {
			result.Failures = append(result.Failures, f)
		}
	}
	return nil
}

// refused records that the rule does not run on the test's rows.
func (r *runner) refused(s *suite, t *Test, result *Result, err error) error {
	var problems problem.List
	if !errors.As(err, &problems) {
		return fmt.Errorf("%s:%d: test %q: %w", s.Path, t.node.Line, t.Name, err)
	}
	result.Failures = append(result.Failures, s.failure(t, "the rule does not run on the test's rows", problems))
	return nil
}

// failure returns the failure of a test that could not run.
func (s *suite) failure(t *Test, message string, problems problem.List) Failure {
	return Failure{File: s.Path, Line: t.node.Line, Col: t.node.Col, Message: message, Diff: []string{}, Problems: problems}
}

// judge compares the outcome of a step with what the step expects.
func (s *suite) judge(t *Test, step *Step, o *outcome, due time.Time) (Failure, bool) {
	d := &diff{exact: t.Exact}
	e := step.Expect
	if e == nil {
		e = &Expect{node: step.node}
	}
	d.compare(e, o)
	if len(d.said) == 0 {
		return Failure{}, false
	}
	f := Failure{
		File: s.Path, Line: e.node.Line, Col: e.node.Col, Step: short(step.At), Due: &due,
		Message: d.message(), Diff: append(d.lines, o.context()...),
	}
	if rule := s.find(t); rule.Mode == rules.ModeState && d.counts {
		f.Diff = append(f.Diff, hurry(rule, t, step)...)
	}
	return f, true
}

// Report is the result of the tests.
type Report struct {
	Files    int          `json:"files"`
	Tests    int          `json:"tests"` // The number of tests that were run.
	Failed   int          `json:"failed"`
	Steps    int          `json:"steps"`
	Results  []Result     `json:"results"`
	Problems problem.List `json:"problems"` // The problems of the test files and of their rule files.
	// Test files without a type catalogue: their notices' types were not checked.
	Unchecked []string `json:"unchecked"`
	Cover     *Cover   `json:"cover,omitempty"`
}

// Passed tells whether all tests were run and none failed.
func (r *Report) Passed() bool { return r.Failed == 0 && len(r.Problems) == 0 && r.Tests > 0 }

// Result is the result of one test.
type Result struct {
	File     string    `json:"file"`
	Line     int       `json:"line"`
	Name     string    `json:"name"`
	Rule     string    `json:"rule"`
	Scope    string    `json:"scope"`
	Steps    int       `json:"steps"`
	Failures []Failure `json:"failures"`
}

// Failure is a step whose run was not as expected. Without Step it is a test that could not run.
type Failure struct {
	File     string       `json:"file"`
	Line     int          `json:"line"`
	Col      int          `json:"col"`
	Step     string       `json:"step,omitempty"` // The step's at.
	Due      *time.Time   `json:"due,omitempty"`
	Message  string       `json:"message"`            // One line.
	Diff     []string     `json:"diff"`               // Lines that begin with "- " (expected), "+ " (got) or "  ".
	Problems problem.List `json:"problems,omitempty"` // Why the rule does not run.
}

// hurry explains a common mistake. The time between two runs counts towards `for` only up to the schedule's shortest
// interval. So a step of ten minutes counts as five minutes for a rule that runs every five minutes.
func hurry(r *rules.Rule, t *Test, at *Step) []string {
	if r.For == 0 && r.KeepFiringFor == 0 {
		return nil
	}
	s, err := schedule.Parse(r.Schedule.Cron, r.Schedule.Timezone)
	if err != nil {
		return nil
	}
	for i, step := range t.Steps {
		if i == 0 {
			continue
		}
		if gap := step.At - t.Steps[i-1].At; gap > s.Shortest() {
			return []string{fmt.Sprintf("  the rule runs every %s, so that %s between two steps count as %s for `for` and keep_firing_for",
				short(s.Shortest()), short(gap), short(s.Shortest()))}
		}
		if step == at {
			return nil
		}
	}
	return nil
}
