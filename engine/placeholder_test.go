package engine_test

import (
	"errors"
	"strings"
	"testing"

	"tallyman/engine"
	"tallyman/rules"
)

// TestRuleWithoutScopes: while a rule waits for its scopes, none of its state is closed. An empty list closes all its
// state. In both cases the rule does not run.
func TestRuleWithoutScopes(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		n := w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(6 * m)
		placeholder := func(p rules.Placeholder) *rules.Rule {
			r := *w.rules[0]
			r.Scope, r.Placeholder, r.Checksum = "", p, string(p)
			return &r
		}
		other := *w.rules[0]
		other.ID = "other"
		w.without(n, placeholder(rules.Waiting), &other)
		status, err := n.Status(t.Context())
		if err != nil || len(status) != 2 || status[0].Verified || !strings.HasPrefix(status[0].Reason, "scopes_unknown: ") {
			t.Errorf("%+v, %v", status, err)
		}
		var unverified *engine.UnverifiedError
		if _, err := n.Rule(w.rules[0].ID, nil); !errors.As(err, &unverified) {
			t.Error(err)
		}
		if _, err := n.RulesOf(w.rules[0].ID, nil); !errors.As(err, &unverified) {
			t.Error(err)
		}
		if got := resolved(w.told()); got != 0 {
			t.Errorf("told %q", w.told())
		}
		w.without(n, placeholder(rules.Nowhere), &other)
		if got := resolved(w.told()); got != 1 {
			t.Errorf("told %q", w.told())
		}
	})
}

func resolved(told []string) (n int) {
	for _, text := range told {
		if strings.HasPrefix(text, "resolved ") {
			n++
		}
	}
	return n
}
