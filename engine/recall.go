package engine

import (
	"context"
	"iter"
	"slices"

	"tallyman/engine/judge"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
)

// mostRemembered bounds the open findings that a node keeps in memory from one run of a rule in a scope to the next.
// The bound is for rules that do not judge each row by itself.
const mostRemembered = 1000

// openFindings caches the open findings that a run left in the ledger. The next run may use the cache only if the field
// Before of its claim has the same token. The same token means that nobody else has changed the findings since.
type openFindings struct {
	token int64           // The token of the run's claim. 0 means nothing is cached.
	open  *finding.Open   // For a rule that judges each row by itself.
	list  []finding.State // For any other rule.
}

// recall returns the findings and the state that the pass builds on. recall takes them from the claim and from the
// node's last run where these are current, and else from the ledger.
func (p *pass) recall(ctx context.Context, c *ledger.Claim) (*judge.Snapshot, error) {
	state, err := p.state(ctx)
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

// recallOpen is recall for a rule that judges each row by itself.
func (p *pass) recallOpen(ctx context.Context, state ledger.ScopeState) (*judge.Snapshot, error) {
	if p.read.open == nil {
		var err error
		if p.read.open, err = p.e.opts.Ledger.Open(ctx, p.rule.ID, p.rule.Scope); err != nil {
			return nil, err
		}
	}
	return p.BeginOpen(state, p.read.open), nil
}

// state returns the state of the scope. The claim may carry the state for the first pass; later passes read the state
// from the ledger, because the passes before have changed it.
func (p *pass) state(ctx context.Context) (ledger.ScopeState, error) {
	if p.claimed != nil {
		return *p.claimed, nil
	}
	return p.e.opts.Ledger.Scope(ctx, p.rule.ID, p.rule.Scope)
}

// remember caches for the next run the open findings that this pass has left in the ledger. If the cache cannot follow
// what the pass has changed, remember caches nothing.
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

// changes yields the changed findings of the record, and whether the record deletes each of them.
func changes(record *ledger.Commit) iter.Seq2[*finding.State, bool] {
	return func(yield func(*finding.State, bool) bool) {
		for i := range record.Findings {
			if c := &record.Findings[i]; !yield(&c.State, c.Op == ledger.Delete) {
				return
			}
		}
	}
}
