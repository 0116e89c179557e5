package enginetest

import (
	"context"
	"slices"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules/row"
)

// Rewind moves the watermark, unless a firing runs.
func (l *firingStore) Rewind(ctx context.Context, _ ledger.Author, r *ledger.Rewind) ([]row.Value, error) {
	leave, err := l.enter(ctx, "Rewind")
	if err != nil {
		return nil, err
	}
	defer leave()
	s := l.scopes[scopeID{r.Rule, r.Scope}]
	switch {
	case len(r.To) == 0 || len(r.To) != len(r.Columns):
		return nil, ledger.ErrInvalid
	case s == nil:
		return nil, ledger.ErrNotFound
	case s.running != nil && l.now().Before(s.running.LeaseUntil):
		return nil, ledger.ErrBusy
	}
	s.token++
	if s.node = ""; s.running != nil {
		s.running.Token, s.running.LeaseUntil = s.token, time.Time{}
	}
	before := s.mark
	s.mark, s.initial, s.memory = slices.Clone(r.To), r.Initial, ledger.LookBack{}
	return before, nil
}
