package authoring

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tallyman/engine/trial"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/problem"
)

// firstRuns tries the first runs of rules that have not run yet, to count the notices that they would send.
type firstRuns struct {
	ledger trial.Ledger // nil where no ledger is in reach. Each rule then counts as a new one.
}

// isAhead tells whether the first run of the rule is still to come.
func (f *firstRuns) isAhead(ctx context.Context, r *rules.Rule) (bool, error) {
	if f.ledger == nil {
		return true, nil
	}
	start, _, err := trial.From(ctx, f.ledger, r.ID, r.Scope)
	return start.State.IsFirst(), err
}

// check returns the warnings about the first run of a verified rule. A first run that fails is also a warning.
func (f *firstRuns) check(ctx context.Context, r *rules.Rule, try *trial.Trial) problem.List {
	if !r.Enabled || r.Shadow || r.FirstRun == rules.FirstRunBaseline {
		return nil
	}
	ahead, err := f.isAhead(ctx, r)
	if err != nil || !ahead {
		return nil //nolint:nilerr // where the ledger does not answer, nobody knows whether the rule is new
	}
	run, err := try.Run(ctx, time.Now().UTC().Truncate(time.Second))
	if err != nil {
		return nil //nolint:nilerr // the check was ended
	}
	if run.Run.Outcome == ledger.OutcomeFailed {
		code, message, _ := strings.Cut(run.Run.Error, ": ")
		return problem.List{r.Problem("probe.sql", code, fmt.Sprintf("the first run could not be tried: %s", message), "")}
	}
	return rules.LintFirstRun(r, countNotices(run))
}

// countNotices counts the notices of a run, without digests.
func countNotices(run *trial.Run) int {
	n := 0
	for _, c := range run.Commits {
		for i := range c.Notices {
			if !notice.IsDigest(c.Notices[i].Notice.ID) {
				n++
			}
		}
	}
	return n
}
