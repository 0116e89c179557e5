package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
)

// ErrNotShadow says that a rule that is live already was to be promoted.
var ErrNotShadow = errors.New("the rule is not in shadow")

// Promote makes a rule in shadow live in the scope, or in all of its scopes where that is nil: from its next run on, on every
// node, it delivers what it newly finds. What it knows already is not told again. It returns every scope that is live by then.
func (e *Engine) Promote(ctx context.Context, who ledger.Author, rule string, scope *string) ([]ledger.Promotion, error) {
	found, err := e.find(rule, scope)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(r *rules.Rule) bool { return !r.Shadow })
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNotShadow, rule)
	}
	list := make([]ledger.Promotion, len(found))
	for i, r := range found {
		now := e.opts.Clock.Now().UTC()
		if _, err := e.opts.Ledger.Register(ctx, r.ID, r.Scope, now); err != nil { // it may never have run
			return nil, err
		}
		if err := e.opts.Ledger.Promote(ctx, who, r.ID, r.Scope, now); err != nil {
			return nil, err
		}
		state, err := e.opts.Ledger.Scope(ctx, r.ID, r.Scope)
		if err != nil {
			return nil, err
		}
		list[i] = ledger.Promotion{Rule: r.ID, Scope: r.Scope, At: state.Promoted, By: state.PromotedBy}
	}
	return list, nil
}

// demoteAfter is how long a node runs a rule that is no longer in shadow before its promotion is forgotten. Until then a node
// that still has the old file, as while a cluster is restarted node by node, goes on telling what it finds.
const demoteAfter = 10 * time.Minute

// demote forgets the promotion of a rule whose file has left shadow behind: should it return there, it is in shadow again.
func (p *pass) demote(ctx context.Context, known *ledger.ScopeState) {
	if p.rule.Shadow || known.Promoted.IsZero() || p.Started.Sub(p.since) < demoteAfter {
		return
	}
	who := ledger.Author{By: "node:" + p.e.opts.Node, Via: ledger.ViaFile}
	if err := p.e.opts.Ledger.Demote(ctx, who, p.rule.ID, p.rule.Scope); err != nil {
		p.log.Warn("the promotion of a rule that is not in shadow any more could not be forgotten; the next run tries again", "error", err)
		return
	}
	p.log.Info("the rule's file has no shadow any more: its promotion is forgotten", "promoted", known.Promoted)
}
