package judge

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// SharedScan runs a probe for a pass of a rule with split_by, and perhaps for passes of other scopes as well.
// SharedScan calls visit with the rows of the pass's scope, from one goroutine at a time, and never after SharedScan
// has returned. Result.Rows counts these rows. An error of visit ends the scan for this pass alone.
type SharedScan func(ctx context.Context, req scanners.Request, visit func(*row.Row) error) (SharedResult, error)

// SharedResult is the result of a shared scan for one scope, and the rows that belong to no scope.
type SharedResult struct {
	scanners.Result // More is about the rows of all scopes.

	Strays int      // The number of rows that name no scope of the rule.
	Named  []string // Some of the names in those rows.
}

// CodeUnknownScope is the code for rows that name no scope of their rule.
const CodeUnknownScope = "split_unknown_scope"

// shared runs the probe of a rule with split_by. Without a SharedScan the pass runs the probe alone and skips the rows
// of other scopes.
func (p *Pass) shared(ctx context.Context, req scanners.Request, visit func(*row.Row) error) (SharedResult, error) {
	if p.Shared != nil {
		return p.Shared(ctx, req, func(r *row.Row) error { return p.Survive(func() error { return visit(r) }) })
	}
	own := 0
	res, err := p.Prepared.Scan(ctx, req, func(r *row.Row) error {
		if !p.Owns(r) {
			return nil
		}
		own++
		return visit(r)
	})
	return SharedResult{Result: scanners.Result{Rows: own, More: res.More}}, err
}

// Owns tells whether the row belongs to the rule's scope. Without split_by every row does. Call Compile first.
func (s *ScopedRule) Owns(r *row.Row) bool {
	if s.Rule.SplitBy == "" {
		return true
	}
	name, isName := s.Program.RowScope(r)
	return isName && name == s.Rule.Scope
}

// Survive calls judge and turns a panic into an error: a rule that crashes the code must not stop the node.
func (p *Pass) Survive(judge func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			p.Log.Error("Judging the rows panicked. The run fails; the other rules go on.", "due", p.Due, "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
			err = &Error{"panic", fmt.Sprint(reason)}
		}
	}()
	return judge()
}

// stray records the rows that name no scope of the rule. Their sample comes first.
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
