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

// The codes of warnings about subscriptions and silences that have no effect, as far as the node knows.
const (
	CodeUnserved     = "subscription_unserved"
	CodeHoldsNothing = "silence_without_effect"
)

// Unserved returns a warning about a subscription that no rule serves, or "" if a rule serves it.
func Unserved(r *rules.Reach, typ, warehouse string) string {
	ofType, inWarehouse := r.Subscription(typ, warehouse)
	if inWarehouse {
		return ""
	}
	where := ""
	if ofType {
		where = " in warehouse " + warehouse
	}
	return CodeUnserved + ": no rule makes notices of the type" + where + "; only business systems can send notices of the type"
}

// noticeMatches caches which lists of matchers match some notice of the rules in force. There may be many rules, and
// the matchers of a silence never change.
type noticeMatches struct {
	mu    sync.Mutex
	reach *rules.Reach    // The rules that the answers are for.
	by    map[string]bool // By the texts of the matchers and the labels of the types.
}

// mostMatched is the maximum number of cached answers.
const mostMatched = 10_000

// any tells whether a rule can make a notice that matches all matchers. A notice also has the labels of its type.
func (k *noticeMatches) any(r *rules.Reach, types catalog.Catalog, matchers []silence.Matcher) bool {
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

// mayHaveKey tells whether the rule can make a notice whose key matches the matcher. A literal key must have as many
// values as the keys of the rule, or as the keys of its groups.
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

// reach describes all notices that the answering node can foresee: the notices of its rules, and the notices that
// business systems can send.
type reach struct {
	matchCache *noticeMatches
	rules      *rules.Reach
	types      catalog.Catalog
	warehouses []string
	anywhere   bool // There may be warehouses that no rule and no subscription names.
}

func (h *Handlers) reach(ctx context.Context) (*reach, error) {
	r := &reach{matchCache: &h.matchCache, rules: h.deps.Rules.Reach()}
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

// silence returns a warning about a silence that matches nothing foreseeable, or "" if it may match something.
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

// matches tells whether a notice of a rule or of a business system can match all matchers.
func (r *reach) matches(matchers []silence.Matcher) bool {
	return r.matchCache.any(r.rules, r.types, matchers) || r.sent(matchers)
}

// sent tells whether a sent notice can match all matchers. Such a notice has no rule, no scope and no key, and its
// labels are unknown.
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
