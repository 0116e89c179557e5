package engine

import (
	"context"
	"iter"
	"slices"

	"tallyman/engine/judge"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
)

// mostRemembered is how many open findings a node remembers as a whole from one run to the next, of a rule in a scope
// that does not judge each row by itself.
const mostRemembered = 1000

// openFindings are those that a run left in the ledger. They are still the ledger's when the next claim says that
// nobody came between.
type openFindings struct {
	token int64           // of the claim that the run had; 0 = nothing is remembered
	open  *finding.Open   // of a rule that judges each row by itself
	list  []finding.State // of another rule
}

// recall reads the findings and the state that the pass builds on: what the claim says and what the last run has left,
// or else the ledger.
func (p *pass) recall(ctx context.Context, c *ledger.Claim) (*judge.Snapshot, error) {
	state, err := p.state(ctx, c)
	if err != nil {
		return nil, err
	}
	p.demote(ctx, &state)
	p.noteInitial(&state)
	if p.read = p.left; p.left.token != c.Before {
		p.read = openFindings{}
	}
	if p.JudgesRows() {
		return p.recallOpen(ctx, state)
	}
	if p.read.token == 0 {
		if p.read.list, err = p.e.opts.Ledger.Findings(ctx, p.rule.ID, p.rule.Scope); err != nil {
			return nil, err
		}
	}
	var back ledger.LookBack
	if p.rule.Probe.Watermark != nil && p.Resume == nil {
		if back, err = p.e.opts.Ledger.LookBack(ctx, p.rule.ID, p.rule.Scope); err != nil {
			return nil, err
		}
	}
	return p.Begin(state, slices.Clone(p.read.list), back), nil
}

// recallOpen is recall of a rule that judges each row by itself.
func (p *pass) recallOpen(ctx context.Context, state ledger.ScopeState) (*judge.Snapshot, error) {
	if p.read.open == nil {
		var err error
		if p.read.open, err = p.e.opts.Ledger.Open(ctx, p.rule.ID, p.rule.Scope); err != nil {
			return nil, err
		}
	}
	return p.BeginOpen(state, p.read.open), nil
}

// state is that of the first pass as the claim says it; later ones have changed it.
func (p *pass) state(ctx context.Context, c *ledger.Claim) (ledger.ScopeState, error) {
	if c.State != nil && p.Resume == nil {
		return *c.State, nil
	}
	return p.e.opts.Ledger.Scope(ctx, p.rule.ID, p.rule.Scope)
}

// remember keeps for the next run what this one has left in the ledger.
func (p *pass) remember(c *ledger.Claim, record *ledger.Commit) {
	p.left = openFindings{}
	switch {
	case p.read.open != nil:
		p.read.open.Apply(changes(record))
		p.left = openFindings{token: c.Token, open: p.read.open}
	case len(record.Findings) == 0 && len(p.read.list) <= mostRemembered:
		p.left = openFindings{token: c.Token, list: p.read.list}
	}
}

// changes are the findings after the run, and whether they are gone.
func changes(record *ledger.Commit) iter.Seq2[*finding.State, bool] {
	return func(yield func(*finding.State, bool) bool) {
		for i := range record.Findings {
			if c := &record.Findings[i]; !yield(&c.State, c.Op == ledger.Delete) {
				return
			}
		}
	}
}
