package enginetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"tallyman/internal/ledger"
)

// Promote records that a rule in shadow is live.
func (l *operationStore) Promote(ctx context.Context, who ledger.Author, rule, name string, at time.Time) error {
	leave, err := l.enter(ctx, "Promote")
	if err != nil {
		return err
	}
	defer leave()
	s := l.scopes[scopeID{rule, name}]
	if s == nil {
		return ledger.ErrNotFound
	}
	if s.promoted.IsZero() {
		s.promoted, s.promotedBy = at, who.By
	}
	return nil
}

// Demote deletes a promotion.
func (l *operationStore) Demote(ctx context.Context, _ ledger.Author, rule, name string) error {
	leave, err := l.enter(ctx, "Demote")
	if err != nil {
		return err
	}
	defer leave()
	if s := l.scopes[scopeID{rule, name}]; s != nil {
		s.promoted, s.promotedBy = time.Time{}, ""
	}
	return nil
}

// Promotions returns the promotions, sorted by rule and scope.
func (l *operationStore) Promotions(ctx context.Context) ([]ledger.Promotion, error) {
	leave, err := l.enter(ctx, "Promotions")
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []ledger.Promotion
	for id, s := range l.scopes {
		if !s.promoted.IsZero() {
			list = append(list, ledger.Promotion{Rule: id.rule, Scope: id.scope, At: s.promoted, By: s.promotedBy})
		}
	}
	slices.SortFunc(list, func(a, b ledger.Promotion) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Scope, b.Scope))
	})
	return list, nil
}

// Finding returns an open finding with its row.
func (l *historyStore) Finding(ctx context.Context, rule, name, key string) (ledger.Finding, error) {
	leave, err := l.enter(ctx, "Finding")
	if err != nil {
		return ledger.Finding{}, err
	}
	defer leave()
	if s := l.scopes[scopeID{rule, name}]; s != nil {
		if st, ok := s.findings[key]; ok {
			seen := s.rows[key]
			return ledger.Finding{State: st, Row: seen.json, RowDue: seen.due}, nil
		}
	}
	return ledger.Finding{}, ledger.ErrNotFound
}

// Trace returns the notices of the keys and the notices with the ids, the latest first.
func (l *historyStore) Trace(ctx context.Context, rule, name string, keys, ids []string, limit int) ([]ledger.NoticeTrace, error) {
	leave, err := l.enter(ctx, "Trace")
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []ledger.NoticeTrace
	for id, n := range l.notices {
		if !slices.Contains(ids, id) && (n.Rule != rule || n.Scope != name || !slices.Contains(keys, n.Key)) {
			continue
		}
		t := ledger.NoticeTrace{Notice: n}
		for _, d := range l.delivery {
			if d.Notice.ID == id {
				t.Deliveries = append(t.Deliveries, d.DeliveryTrace)
			}
		}
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b ledger.NoticeTrace) int {
		return cmp.Or(b.Notice.CreatedAt.Compare(a.Notice.CreatedAt), cmp.Compare(a.Notice.ID, b.Notice.ID))
	})
	return list[:min(limit, len(list))], nil
}

// Recipients returns the subscribers.
func (l *catalogueStore) Recipients(ctx context.Context, _, _ string) ([]string, error) {
	leave, err := l.enter(ctx, "Recipients")
	if err != nil {
		return nil, err
	}
	defer leave()
	return slices.Clone(l.Subscribers), nil
}

// LastPlan returns the last recorded plan.
func (l *historyStore) LastPlan(ctx context.Context, rule, name string) (ledger.ProbePlan, error) {
	leave, err := l.enter(ctx, "LastPlan")
	if err != nil {
		return ledger.ProbePlan{}, err
	}
	defer leave()
	p, ok := l.plans[scopeID{rule, name}]
	if !ok {
		return p, ledger.ErrNotFound
	}
	return p, nil
}

// RecordPlan replaces the plan.
func (l *historyStore) RecordPlan(ctx context.Context, p ledger.ProbePlan) error {
	leave, err := l.enter(ctx, "RecordPlan")
	if err != nil {
		return err
	}
	defer leave()
	l.plans[scopeID{p.Rule, p.Scope}] = p
	return nil
}

// seenRow is the row of a finding's last change.
type seenRow struct {
	json []byte
	due  time.Time
}

// keep stores the row of a change.
func (s *scope) keep(c *ledger.FindingChange, due time.Time) {
	switch {
	case c.Op == ledger.Delete:
		delete(s.rows, c.Key)
	case c.Row != nil:
		s.rows[c.Key] = seenRow{slices.Clone(c.Row), due}
	}
}

// Switches returns every switch, by rule and scope.
func (l *operationStore) Switches(ctx context.Context) ([]ledger.Switch, error) {
	leave, err := l.enter(ctx, "Switches")
	if err != nil {
		return nil, err
	}
	defer leave()
	return slices.SortedFunc(maps.Values(l.switches), func(a, b ledger.Switch) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Scope, b.Scope))
	}), nil
}

// SetSwitch replaces a switch.
func (l *operationStore) SetSwitch(ctx context.Context, who ledger.Author, s ledger.Switch) error {
	leave, err := l.enter(ctx, "SetSwitch")
	if err != nil {
		return err
	}
	defer leave()
	s.By = who.By
	l.switched++
	l.switches[scopeID{s.Rule, s.Scope}] = s
	return nil
}

// Numbers returns the number of changes of switches.
func (l *operationStore) Numbers(ctx context.Context) (map[string]int64, error) {
	leave, err := l.enter(ctx, "Numbers")
	if err != nil {
		return nil, err
	}
	defer leave()
	return map[string]int64{"switches": l.switched}, nil
}
