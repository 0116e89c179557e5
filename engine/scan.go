package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// found is what a scan has come to.
type found struct {
	run       ledger.Run // counts, outcome, error and samples
	fault     error      // of a failed run
	step      finding.Result
	drafts    []*rules.Draft // of step.Tells
	rows      [][]byte       // JSON of the rows that have made step.Changes; those without come last, or are nil
	events    []event        // mode event
	watermark []row.Value    // nil = unchanged
	again     bool           // mode event: there are more rows than max_rows
}

// judge takes the rows of a scan while they stream by.
type judge interface {
	visit(r *row.Row) error
	finish(res scanners.Result) (*found, error)
}

// runError is a failure that is not the source's, with its code.
type runError struct{ code, message string }

func (e *runError) Error() string { return e.code + ": " + e.message }

// scan runs the probe and judges its rows. It always finds something: a failed run leaves the findings as they
// were and moves the observed clock.
func (p *pass) scan(ctx context.Context, known *before) *found {
	found, err := p.tryScan(ctx, known)
	if err != nil {
		var refused *scanners.Error
		if errors.As(err, &refused) && !refused.Transient {
			p.ready = ready{} // the schema may have changed: verify before the next run
		}
		found = p.failed(known, err)
	}
	p.alert(known, found)
	return found
}

// tryScan turns a panic into an error: a rule that the code cannot cope with must not take the others down.
func (p *pass) tryScan(ctx context.Context, known *before) (f *found, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			p.log.Error("panic while judging rows", "due", p.due, "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
			f, err = nil, &runError{"panic", fmt.Sprint(reason)}
		}
	}()
	if p.unverified != nil {
		return nil, p.unverified // see unready.go
	}
	p.ready.program.SetNow(p.due)
	judge := p.judge(known)
	res, err := p.ready.prepared.Scan(ctx, scanners.Request{
		Args:    p.args(known),
		Timeout: p.rule.Probe.Timeout,
		MaxRows: p.rule.Probe.MaxRows,
	}, judge.visit)
	if err != nil {
		return nil, err
	}
	p.e.opts.Step(StepScanned)
	f, err = judge.finish(res)
	if err != nil {
		return nil, err
	}
	f.run.Rows, f.run.Outcome = res.Rows, ledger.OutcomeOK
	if f.run.Errored > 0 || f.step.Repeated > 0 {
		f.run.Outcome = ledger.OutcomeDegraded
	}
	return f, nil
}

func (p *pass) judge(known *before) judge {
	switch {
	case p.rule.Mode == rules.ModeEvent:
		return newEventJudge(p, known)
	case p.rule.Per == rules.PerResult:
		return newResultJudge(p, known)
	case len(p.rule.GroupBy) > 0:
		return newGroupJudge(p, known)
	}
	return newStateJudge(p, known)
}

// failed is a run that saw nothing.
func (p *pass) failed(known *before, err error) *found {
	return &found{
		run:   ledger.Run{Outcome: ledger.OutcomeFailed, Error: cut(err.Error(), longError)},
		fault: err,
		step:  finding.Fail(known.Scope, known.findings, p.policy, p.due),

		watermark: known.Watermark,
	}
}

// args are the values of the statement's parameters: the rule's own and the built-in ones.
func (p *pass) args(known *before) map[string]any {
	args := map[string]any{
		"now":          p.started,
		"scheduled_at": p.due,
		"last_run_at":  p.lastRunAt(known),
		"scope":        p.rule.Scope,
	}
	if w := p.rule.Probe.Watermark; w != nil {
		args["until"] = p.due.Add(-w.Lag)
		for i, v := range known.Watermark {
			args["wm_"+w.Columns[i]] = v
		}
	}
	maps.Copy(args, p.rule.Probe.Params)
	maps.DeleteFunc(args, func(name string, _ any) bool { return !slices.Contains(p.stmt.Params, name) })
	return args
}

// lastRunAt is the due time of the last run that saw rows, so that a failed one leaves no hole; before
// the first it is when the rule became known.
func (p *pass) lastRunAt(known *before) time.Time {
	if known.LastOKDue.IsZero() {
		return known.Registered
	}
	return known.LastOKDue
}
