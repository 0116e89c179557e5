package ruletest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tallyman/engine/trial"
	"tallyman/rules"
	"tallyman/rules/problem"
)

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
