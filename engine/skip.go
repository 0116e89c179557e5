package engine

import (
	"context"
	"time"

	"tallyman/engine/finding"
	"tallyman/internal/ledger"
)

// skipOverlapped records the firings that came due while the one before still ran, where overlap says skip. They
// are one run in the ledger, so that an operator sees that the rule is too slow for its schedule.
func (u *unit) skipOverlapped(ctx context.Context) {
	skipped := u.plan.overlapped(u.now())
	if len(skipped) == 0 {
		return
	}
	latest := skipped[len(skipped)-1]
	u.log.Warn("firings skipped: the one before still ran", "skipped", len(skipped), "latest", latest)
	claim, err := u.e.opts.Ledger.Claim(ctx, u.rule.ID, u.rule.Scope, latest, u.e.opts.Node, u.e.opts.Lease)
	if err != nil {
		return // another node was faster, or the ledger is away: then this record is all that is lost
	}
	if err := u.commitSkipped(ctx, claim, skipped); err != nil {
		u.log.Warn("skipped firings could not be recorded", "error", err)
		if err := u.e.opts.Ledger.Release(ctx, claim); err != nil {
			u.log.Warn("the firing could not be given back; its lease ends by itself", "due", claim.Due, "error", err)
		}
	}
}

// commitSkipped moves the observed clock over the skipped firings, as failed runs do.
func (u *unit) commitSkipped(ctx context.Context, claim ledger.Claim, skipped []time.Time) error {
	p := &pass{unit: u, due: claim.Due, started: u.now().Truncate(time.Microsecond), clock: time.Now()}
	known, err := p.recall(ctx)
	if err != nil {
		return err
	}
	var step finding.Result
	scope := known.Scope
	for _, due := range skipped {
		step = finding.Fail(scope, known.findings, u.policy, due)
		scope = step.Scope
	}
	found := &found{run: ledger.Run{Outcome: ledger.OutcomeSkipped}, step: step}
	record := &ledger.Commit{Scope: scope, Run: p.sumUp(found, 0, &ledger.Run{})}
	committed, err := u.e.opts.Ledger.Commit(ctx, claim, record)
	if err != nil {
		return err
	}
	p.announce(record, committed)
	return nil
}
