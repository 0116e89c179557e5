package judge

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// SharedScan runs a probe for a pass of a rule with split_by, perhaps for passes of other scopes as well. The visit
// gets the rows of the scope of the pass, while SharedScan runs and from one goroutine at a time; Result.Rows counts
// those. Its error ends the scan for this pass alone.
type SharedScan func(ctx context.Context, req scanners.Request, visit func(*row.Row) error) (SharedResult, error)

// SharedResult is what a scan saw for a scope, and what it saw for none.
type SharedResult struct {
	scanners.Result // More is of the rows of all scopes

	Strays int      // rows whose column names no scope of the rule
	Named  []string // what some of them name instead
}

// CodeUnknownScope is the code of rows that name no scope of their rule.
const CodeUnknownScope = "split_unknown_scope"

// shared runs the probe of a rule with split_by. Where nobody shares the scan, the pass takes its rows and leaves the
// others.
func (p *Pass) shared(ctx context.Context, req scanners.Request, visit func(*row.Row) error) (SharedResult, error) {
	if p.Shared != nil {
		return p.Shared(ctx, req, func(r *row.Row) error { return p.Survive(func() error { return visit(r) }) })
	}
	own := 0
	res, err := p.Prepared.Scan(ctx, req, func(r *row.Row) error {
		if name, ok := p.Program.RowScope(r); !ok || name != p.Rule.Scope {
			return nil
		}
		own++
		return visit(r)
	})
	return SharedResult{Result: scanners.Result{Rows: own, More: res.More}}, err
}

// Survive turns a panic into an error: a rule that the code cannot cope with must not take the others down.
func (p *Pass) Survive(judge func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			p.Log.Error("panic while judging rows", "due", p.Due, "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
			err = &Error{"panic", fmt.Sprint(reason)}
		}
	}()
	return judge()
}

// stray counts the rows that belong to no scope of the rule, and tells of them before all else.
func (r *Result) stray(res SharedResult) {
	if r.run.Strays = res.Strays; res.Strays == 0 {
		return
	}
	others := r.run.Samples
	r.run.Samples = nil
	AddSample(&r.run, fmt.Sprintf("%s: of %d rows the column of split_by names no scope of the rule; it holds %s: add the scope, or leave such rows out in the probe",
		CodeUnknownScope, res.Strays, strings.Join(res.Named, ", ")))
	for _, text := range others {
		AddSample(&r.run, text)
	}
}
