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

// Options is what tests run with.
type Options struct {
	Types  catalog.Catalog          // for files that name none; nil = their rules' types are taken on trust
	Memory func() (Database, error) // an empty in-memory database for tables; asked at most once
	Source Database                 // the real engine instead; nil = none
	Engine string                   // the name of Source
	Run    *regexp.Regexp           // only tests whose name or rule it matches; nil = all
	Cover  bool                     // say what no test reaches
	Extra  []string                 // rule files and folders whose rules should be covered, beside those that test files name
}

// Database is a source that tests may stage tables in.
type Database interface {
	scanners.Source
	scanners.Sessions
}

// Run runs the tests of the files. An error is one of the surroundings: a test that fails, for whatever reason, is in
// the report.
func Run(ctx context.Context, files []*File, o Options) (*Report, error) {
	r := &runner{Options: o, report: &Report{Results: []Result{}, Problems: problem.List{}, Unchecked: []string{}}, sets: map[string]*rules.Set{}}
	if o.Cover {
		r.cover = newCoverage()
		for _, path := range o.Extra { // one by one: two rule packs may have a rule of the same id
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
		_ = r.memory.Close() // it is gone with the process at the latest
	}
}

// load reads rule files once for all test files that name the same ones.
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

// suite is a file with what it names.
type suite struct {
	*File
	set    *rules.Set
	types  catalog.Catalog // nil = on trust
	tables fixtures
	bad    map[*Test]bool        // told in the report's problems
	made   map[*Test]*rules.Rule // of tests whose scope a query would list
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

// database is what tables are staged in.
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

// test runs one test. An error is one of the surroundings; what concerns the test is in its result.
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

// refused is a rule that does not run at all.
func (r *runner) refused(s *suite, t *Test, result *Result, err error) error {
	var problems problem.List
	if !errors.As(err, &problems) {
		return fmt.Errorf("%s:%d: test %q: %w", s.Path, t.node.Line, t.Name, err)
	}
	result.Failures = append(result.Failures, s.failure(t, "the rule does not run on the test's rows", problems))
	return nil
}

// failure is a test that could not be run.
func (s *suite) failure(t *Test, message string, problems problem.List) Failure {
	return Failure{File: s.Path, Line: t.node.Line, Col: t.node.Col, Message: message, Diff: []string{}, Problems: problems}
}

// judge compares what a step came to with what was expected.
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

// Report is what became of the tests.
type Report struct {
	Files     int          `json:"files"`
	Tests     int          `json:"tests"` // that were run
	Failed    int          `json:"failed"`
	Steps     int          `json:"steps"`
	Results   []Result     `json:"results"`
	Problems  problem.List `json:"problems"`  // of test files, and of the rule files that they name
	Unchecked []string     `json:"unchecked"` // test files without a type catalogue: notices' types were not checked
	Cover     *Cover       `json:"cover,omitempty"`
}

// Passed tells whether all tests were run and none failed.
func (r *Report) Passed() bool { return r.Failed == 0 && len(r.Problems) == 0 && r.Tests > 0 }

// Result is one test.
type Result struct {
	File     string    `json:"file"`
	Line     int       `json:"line"`
	Name     string    `json:"name"`
	Rule     string    `json:"rule"`
	Scope    string    `json:"scope"`
	Steps    int       `json:"steps"`
	Failures []Failure `json:"failures"`
}

// Failure is a step that did not come out as expected, or, without Step, a test that could not be run.
type Failure struct {
	File     string       `json:"file"`
	Line     int          `json:"line"`
	Col      int          `json:"col"`
	Step     string       `json:"step,omitempty"` // its at
	Due      *time.Time   `json:"due,omitempty"`
	Message  string       `json:"message"`            // in one line
	Diff     []string     `json:"diff"`               // lines that begin with "- " (expected), "+ " (got) or "  "
	Problems problem.List `json:"problems,omitempty"` // why the rule does not run
}

// hurry explains the commonest surprise: a span between two runs counts towards `for` with the schedule's shortest
// interval at most, so one step of ten minutes is not ten minutes of a rule that runs every five.
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
