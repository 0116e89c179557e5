package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The status warns of subscriptions that no rule serves: the first ones by name, and none that a rule may serve.
func TestStatusWarnsOfUnservedSubscriptions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sqliteWMS()
	n := s.start("one")
	subscribe := func(warehouse string) {
		n.must(http.MethodPost, "/subscriptions", `{"type":"REP_NOTICE","warehouse":"`+warehouse+`","subscriber":"user:a"}`)
	}
	subscribe("W9")
	if got := n.status().Warnings; len(got) > 0 {
		t.Errorf("a site without rules: %q", got)
	}
	s.rule("stock.yaml", strings.Replace(auditRule, "warehouse: wh_id", `warehouse: "'W1'"`, 1))
	n.must(http.MethodPost, "/rules/reload", "")
	subscribe("*")
	subscribe("W1")
	const want = "subscription_unserved: REP_NOTICE W9 user:a: no rule makes notices of the type in warehouse W9; only business systems can send notices of the type"
	if got := n.status().Warnings; len(got) != 1 || got[0] != want {
		t.Errorf("%q", got)
	}
	for i := range 21 {
		subscribe(fmt.Sprint("X", i))
	}
	if got := n.status().Warnings; len(got) != 21 || !strings.HasPrefix(got[20], "subscription_unserved: 2 more subscriptions;") {
		t.Errorf("%q", got)
	}
	s.rule("stock.yaml", auditRule) // its warehouse depends on the row
	n.must(http.MethodPost, "/rules/reload", "")
	if got := n.status().Warnings; len(got) > 0 {
		t.Errorf("%q", got)
	}
}
