package engine

import (
	"context"
	"errors"

	"tallyman/internal/ledger"
)

// Recall is what a trial's start is read from: a ledger, also one that is open for reading only.
type Recall interface{ ledger.ScopeReader }

// TrialFrom reads what the ledger knows of the rule in the scope. A rule that it does not know begins with nothing,
// and known is false.
func TrialFrom(ctx context.Context, l Recall, rule, scope string) (start TrialStart, known bool, err error) {
	start.State, err = l.Scope(ctx, rule, scope)
	if errors.Is(err, ledger.ErrNotFound) {
		return TrialStart{}, false, nil
	}
	if err != nil {
		return TrialStart{}, false, err
	}
	if start.Findings, err = l.Findings(ctx, rule, scope); err != nil {
		return TrialStart{}, false, err
	}
	var ids []string
	for _, f := range start.Findings {
		if f.NoticeID != "" {
			ids = append(ids, f.NoticeID)
		}
	}
	if len(ids) > 0 {
		if start.Notices, err = l.Notices(ctx, ids); err != nil {
			return TrialStart{}, false, err
		}
	}
	return start, true, nil
}
