package engine

import (
	"context"
	"slices"

	"tallyman/engine/judge"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
)

// mostRemembered is how many open findings of a rule in a scope a node remembers from one run to the next.
const mostRemembered = 1000

// openFindings are those that a run left in the ledger. They are still the ledger's when the next claim says that nobody came between.
type openFindings struct {
	token int64 // of the claim that the run had; 0 = nothing is remembered
	list  []finding.State
}

// recall reads the findings and the state that the pass builds on: what the claim says and what the last run has left, or else the ledger.
func (p *pass) recall(ctx context.Context, c *ledger.Claim) (*judge.Snapshot, error) {
	state, err := p.state(ctx, c)
	if err != nil {
		return nil, err
	}
	p.demote(ctx, &state)
	p.noteInitial(&state)
	if p.read = p.left.list; p.left.token == 0 || p.left.token != c.Before {
		if p.read, err = p.e.opts.Ledger.Findings(ctx, p.rule.ID, p.rule.Scope); err != nil {
			return nil, err
		}
	}
	var back ledger.LookBack
	if p.rule.Probe.Watermark != nil && p.Resume == nil {
		if back, err = p.e.opts.Ledger.LookBack(ctx, p.rule.ID, p.rule.Scope); err != nil {
			return nil, err
		}
	}
	return p.Begin(state, slices.Clone(p.read), back), nil
}

// state is that of the first pass as the claim says it; later ones have changed it.
func (p *pass) state(ctx context.Context, c *ledger.Claim) (ledger.ScopeState, error) {
	if c.State != nil && p.Resume == nil {
		return *c.State, nil
	}
	return p.e.opts.Ledger.Scope(ctx, p.rule.ID, p.rule.Scope)
}

// remember keeps the findings for the next run, where this one has changed none.
func (p *pass) remember(c *ledger.Claim, record *ledger.Commit) {
	p.left = openFindings{}
	if len(record.Findings) == 0 && len(p.read) <= mostRemembered {
		p.left = openFindings{token: c.Token, list: p.read}
	}
}
