package operate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/rules"
	"tallyman/rules/catalog"
)

// The codes of warnings about what operators keep: it does nothing, as far as is known.
const (
	CodeUnserved     = "subscription_unserved"
	CodeHoldsNothing = "silence_without_effect"
)

// Unserved warns of a subscription that no rule serves; "" where one does.
func Unserved(r *rules.Reach, typ, warehouse string) string {
	ofType, inWarehouse := r.Subscription(typ, warehouse)
	if inWarehouse {
		return ""
	}
	where := ""
	if ofType {
		where = " in warehouse " + warehouse
	}
	return CodeUnserved + ": no rule makes notices of the type" + where + "; only those that business systems send can come"
}

// toldMatches remembers which matchers meet something that the rules in force may tell: what silences say does not change, and there may be many rules.
type toldMatches struct {
	mu    sync.Mutex
	reach *rules.Reach    // that the answers are about
	by    map[string]bool // by the texts of the matchers
}

// mostMatched is how many answers are kept.
const mostMatched = 10_000

// any tells whether something that a rule may tell meets all matchers. Notices have the labels of their types, too.
func (k *toldMatches) any(r *rules.Reach, types catalog.Catalog, matchers []silence.Matcher) bool {
	var texts []string
	for _, m := range matchers {
		texts = append(texts, m.String())
	}
	for _, code := range types.Codes() {
		if labels := types[code].Labels; len(labels) > 0 {
			texts = append(texts, fmt.Sprint(code, labels))
		}
	}
	key := strings.Join(texts, "\x00")
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.reach != r || len(k.by) >= mostMatched {
		k.reach, k.by = r, map[string]bool{}
	}
	answer, known := k.by[key]
	if !known {
		answer = r.Any(func(t *rules.Told) bool {
			typ := types[t.Rule.Notice.Type]
			about := &silence.Subject{Rule: t.Rule.ID, Type: t.Type, Warehouse: t.Warehouse, Scope: t.Rule.Scope, Labels: typ.MergeLabels(t.Rule.Labels)}
			return !slices.ContainsFunc(matchers, func(m silence.Matcher) bool {
				if m.IsKey() {
					return !mayHaveKey(t.Rule, m)
				}
				return !m.Matches(about) && (t.Warehouse != "" || !m.IsWarehouse())
			})
		})
		k.by[key] = answer
	}
	return answer
}

// mayHaveKey tells whether the rule may tell something under a key that meets the matcher. A key that is given as it is has as many values as
// the rule's, or as its groups'.
func mayHaveKey(r *rules.Rule, m silence.Matcher) bool {
	var values []json.RawMessage
	if m.Op != silence.Equal || json.Unmarshal([]byte(m.Value), &values) != nil {
		return true
	}
	if len(r.GroupBy) > 0 {
		return len(values) == len(r.GroupBy)
	}
	return len(values) == len(r.Key)
}

// reach is what the answering node knows that silences may be about: what its rules may tell, and what business systems may send.
type reach struct {
	told       *toldMatches
	rules      *rules.Reach
	types      catalog.Catalog
	warehouses []string
	anywhere   bool // rules and subscriptions do not name all warehouses
}

func (h *Handlers) reach(ctx context.Context) (*reach, error) {
	r := &reach{told: &h.told, rules: h.deps.Rules.Reach()}
	var err error
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

// silence warns of a silence that can hold back nothing that is known; "" where it may.
func (r *reach) silence(s *silence.Silence) string {
	if r.matches(s.Matchers) {
		return ""
	}
	for _, m := range s.Matchers {
		if !r.matches([]silence.Matcher{m}) {
			return fmt.Sprintf("%s: %s matches no rule, type or warehouse that is known here", CodeHoldsNothing, m)
		}
	}
	return CodeHoldsNothing + ": no rule, type or warehouse that is known here matches all of the matchers"
}

// matches tells whether something that a rule may tell, or that a business system may send, meets all matchers.
func (r *reach) matches(matchers []silence.Matcher) bool {
	return r.told.any(r.rules, r.types, matchers) || r.sent(matchers)
}

// sent tells whether a notice that a business system may send meets all matchers. Such a notice has no rule, no scope and no key, and its labels are
// not known.
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
