package app_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"tallyman/internal/config"
	"tallyman/internal/testenv"
)

// A node whose ledger was away for a moment has what was switched meanwhile as soon as the ledger is back.
func TestSwitchesWhileTheLedgerIsAway(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.realServers()
	s.postgresWMS()
	s.rule("every.yaml", everyScope)
	one := s.start("one")

	at, err := url.Parse(s.cfg.Ledger.URL.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	target := at.Host
	proxy := testenv.NewProxy(t, target)
	at.Host = proxy.Addr
	cfg := *s.cfg
	cfg.Ledger.URL = config.NewSecret(at.String())
	s.cfg = &cfg
	two := s.start("two")

	for round, what := range []string{"disable", "enable", "disable"} {
		proxy.Cut()
		if code := one.post("/rules/every-second/"+what, "", nil); code != http.StatusOK {
			t.Fatalf("%s: %d", what, code)
		}
		if round == 1 && !two.enabled(false) {
			t.Error("a node without a ledger has forgotten what was switched before")
		}
		proxy.Point(target)
		back := time.Now()
		testenv.Eventually(t, func() bool { return two.enabled(what == "enable") }, 30*time.Second)
		t.Logf("%s is in force %v after the ledger is back", what, time.Since(back))
	}
}
