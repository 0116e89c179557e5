package operate

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/rules"
	"tallyman/rules/catalog"
)

// reach is what the answering node knows that silences and subscriptions may be about: what its rules may tell, and what business systems may send.
type reach struct {
	rules      *rules.Reach
	types      catalog.Catalog
	warehouses []string
	anywhere   bool // rules and subscriptions do not name all warehouses
}

func (h *Handlers) reach(ctx context.Context) (*reach, error) {
	list, err := h.deps.Rules.Status(ctx)
	if err != nil {
		return nil, err
	}
	loaded := make([]*rules.Rule, len(list))
	for i := range list {
		loaded[i] = list[i].Rule
	}
	r := &reach{rules: rules.NewReach(loaded)}
	if r.types, err = h.deps.Catalogue.Types(ctx); err != nil {
		return nil, err
	}
	subs, err := h.deps.Catalogue.Subscriptions(ctx, ledger.SubscriptionFilter{})
	if err != nil {
		return nil, err
	}
	r.warehouses, r.anywhere = r.rules.Warehouses()
	for _, s := range subs {
		r.warehouses = append(r.warehouses, s.Warehouse)
	}
	slices.Sort(r.warehouses)
	r.warehouses = slices.Compact(r.warehouses)
	return r, nil
}

// silence says that a silence can hold back nothing that is known; "" where it may.
func (r *reach) silence(s *silence.Silence) string {
	if r.matches(s.Matchers) {
		return ""
	}
	for _, m := range s.Matchers {
		if !r.matches([]silence.Matcher{m}) {
			return fmt.Sprintf("%s matches no rule, type or warehouse that is known here", m)
		}
	}
	return "no rule, type or warehouse that is known here matches all of the matchers"
}

// matches tells whether something that a rule may tell, or that a business system may send, meets all matchers.
func (r *reach) matches(matchers []silence.Matcher) bool {
	told := func(t *rules.Told) bool {
		about := &silence.Subject{Rule: t.Rule.ID, Type: t.Type, Warehouse: t.Warehouse, Scope: t.Rule.Scope, Labels: t.Rule.Labels}
		return !slices.ContainsFunc(matchers, func(m silence.Matcher) bool { return !m.Matches(about) && (t.Warehouse != "" || !m.IsWarehouse()) })
	}
	return r.rules.Any(told) || r.sent(matchers)
}

// sent tells whether a notice that a business system may send meets all matchers. Such a notice has no rule and no scope, and its labels are not known.
func (r *reach) sent(matchers []silence.Matcher) bool {
	fits := func(m silence.Matcher) bool {
		switch {
		case m.IsWarehouse():
			return r.anywhere || slices.ContainsFunc(r.warehouses, func(w string) bool { return m.Matches(&silence.Subject{Warehouse: w}) })
		case m.IsLabel():
			return true
		}
		return slices.ContainsFunc(slices.Collect(maps.Keys(r.types)), func(typ string) bool { return m.Matches(&silence.Subject{Type: typ}) })
	}
	return !slices.ContainsFunc(matchers, func(m silence.Matcher) bool { return !fits(m) })
}

// mostUnmade is how many subscriptions of a page are warned of.
const mostUnmade = 20

// subscriptions says which of them no rule serves.
func (r *reach) subscriptions(list []ledger.Subscription) []string {
	var warnings []string
	for _, s := range list {
		ofType, inWarehouse := r.rules.Subscription(s.Type, s.Warehouse)
		if inWarehouse || len(warnings) == mostUnmade {
			continue
		}
		where := ""
		if ofType {
			where = " in warehouse " + s.Warehouse
		}
		warnings = append(warnings, fmt.Sprintf("%s %s %s: no rule makes notices of the type%s; only those that business systems send can come", s.Type, s.Warehouse, s.Subscriber, where))
	}
	return warnings
}
