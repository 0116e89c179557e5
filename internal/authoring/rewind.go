package authoring

import (
	"context"
	"errors"

	"tallyman/engine/trial"
	"tallyman/engine/trial/rewind"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
)

// RewindRequest says which watermarks to move, and to which position.
type RewindRequest struct {
	Rule   string
	Scope  *string  // nil means each scope of the rule.
	To     []string // See rules.Program.Position.
	DryRun bool     // Count the notices that would follow, and move nothing.
	Who    ledger.Author
	Reason string
}

// RewoundScope is a scope whose watermark was moved, or would be moved in a dry run.
type RewoundScope struct {
	Scope   string
	Columns []string // The columns of the watermark.
	*rewind.Move
	Fault error // Why the watermark was not moved, although the watermark of another scope was.
}

// Rewind moves the watermarks of a rule, each in a transaction of its own. Where a firing of one of the scopes runs, it
// moves none and returns engine.ErrRunning. Other errors are *engine.UnknownError, rewind.ErrNoWatermark,
// *rules.PositionError, and the errors of Preview.
func (n *Node) Rewind(ctx context.Context, q RewindRequest) ([]RewoundScope, error) {
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	found, err := n.Engine.RulesOf(q.Rule, q.Scope)
	if err != nil {
		return nil, err
	}
	leave, err := n.enterPreview(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	types, err := n.Ledger.Types(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]RewoundScope, len(found))
	for i, r := range found {
		if !q.DryRun {
			if err := n.Engine.Running(ctx, r); err != nil {
				return nil, err
			}
		}
		move, err := n.openMove(ctx, r, types, &q)
		if err != nil {
			return nil, errors.Join(err, context.Cause(ctx))
		}
		list[i] = RewoundScope{Scope: r.Scope, Columns: r.Probe.Watermark.Columns, Move: move}
	}
	if q.DryRun {
		return list, nil
	}
	return list, n.move(ctx, found, list, &q)
}

// openMove finds the new position of a watermark. In a dry run it also counts the notices that would follow.
func (n *Node) openMove(ctx context.Context, r *rules.Rule, types catalog.Catalog, q *RewindRequest) (*rewind.Move, error) {
	release, err := n.Engine.Room(ctx, r.Source)
	if err != nil {
		return nil, err
	}
	defer release()
	m, err := rewind.Open(ctx, rewind.Request{
		Rule: r, Source: n.Sources[r.Source], Types: types, Ledger: n.Ledger, Silencer: n.Silencer, Term: n.Engine.Term(), To: q.To, Now: n.Engine.Now(),
	})
	if err != nil || !q.DryRun {
		return m, err
	}
	return m, m.Count(ctx)
}

// move moves the watermarks. Where it can move none of them, it returns the error of the first one.
func (n *Node) move(ctx context.Context, found []*rules.Rule, list []RewoundScope, q *RewindRequest) error {
	moved := 0
	for i, r := range found {
		before, err := n.Engine.Rewind(ctx, q.Who, r, list[i].After, q.Reason)
		if list[i].Fault = err; err == nil {
			list[i].Before = before
			moved++
		}
	}
	if moved == 0 {
		return list[0].Fault
	}
	return nil
}

// initialLint warns of an `initial` that has no effect, if the ledger knows the rule in its scope.
func initialLint(ctx context.Context, l trial.Ledger, r *rules.Rule) problem.List {
	if l == nil || r.Probe.Watermark == nil {
		return nil
	}
	state, err := l.Scope(ctx, r.ID, r.Scope)
	if err != nil {
		return nil //nolint:nilerr // the rule has not run yet, or the ledger does not answer
	}
	return rules.LintInitial(r, state.Initial, state.Watermark)
}
