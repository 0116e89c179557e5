package app_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// enabled asks a node whether all scopes of the rule run, or none.
func (n *node) enabled(want bool) bool {
	n.t.Helper()
	for _, r := range n.status().Rules {
		if r.Enabled != want {
			return false
		}
	}
	return true
}

// Three nodes on one PostgreSQL and one Redis: what one switches is in force on all of them at once, in the middle of a
// schedule of every second, and outlives reloads and restarts.
func TestSwitchesAreInForceOnEveryNode(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.realServers()
	s.postgresWMS()
	s.rule("every.yaml", everyScope)
	nodes := []*node{s.start("one"), s.start("two"), s.start("three")}
	l := s.openLedger()
	testenv.Eventually(t, func() bool { return len(readRuns(t, l)) >= 2*8 }, 30*time.Second)

	var took []time.Duration
	for round := range 6 {
		what, want := "disable", false
		if round%2 == 1 {
			what, want = "enable", true
		}
		by := nodes[round%3]
		if code := by.post("/rules/every-second/"+what, `{"reason":"stocktake"}`, nil); code != http.StatusOK {
			t.Fatalf("%s: %d", what, code)
		}
		began := time.Now()
		if !by.enabled(want) {
			t.Errorf("%s is not in force on the node that was asked", what)
		}
		for _, n := range nodes {
			testenv.Eventually(t, func() bool { return n.enabled(want) }, 20*time.Second)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("in force on all of three nodes after %v", took)

	if code := nodes[0].post("/rules/every-second/disable", "", nil); code != http.StatusOK {
		t.Fatal(code)
	}
	disabled := time.Now()
	testenv.Eventually(t, func() bool { return nodes[1].enabled(false) && nodes[2].enabled(false) }, 20*time.Second)
	after := time.Now()
	s.rule("every.yaml", strings.Replace(everyScope, `title: "Bin"`, `title: "Bin {{ .bin_code }}"`, 1))
	for _, n := range nodes {
		n.post("/rules/reload", "", nil)
	}
	nodes[2].stop()
	nodes[2] = s.start("three")
	testenv.Eventually(t, func() bool { return time.Since(after) > 3*time.Second }, 20*time.Second)
	for _, n := range nodes {
		if !n.enabled(false) {
			t.Error("the reload or the restart has enabled the rule")
		}
	}
	for _, run := range readRuns(t, l) {
		if run.Outcome != ledger.OutcomeSkipped && run.Due.After(after) {
			t.Errorf("disabled at %v, in force everywhere at %v, and %v ran", disabled, after, run.Due)
		}
	}
	st := nodes[1].status()
	if sw := st.Rules[0].Switch; sw == nil || sw.State != "disabled" || sw.By != "anonymous" {
		t.Errorf("%+v", st.Rules[0])
	}
	if code := nodes[1].post("/rules/every-second/clear", "", nil); code != http.StatusOK || !nodes[1].enabled(true) {
		t.Errorf("clear: %d", code)
	}
}

// Nodes whose rules differ are shown; a run that is asked for happens once, whoever is asked.
func TestNodesAndRunsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.realServers()
	wms := s.postgresWMS()
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	yearly := strings.Replace(stockRule, `"@every 1s"`, `"0 0 1 1 *"`, 1)
	s.rule("stock.yaml", yearly)
	one := s.start("one")
	cfg := *s.cfg
	cfg.Rules.Paths = []string{s.dir + "/rules", s.dir + "/more"} // which is not there
	s.cfg = &cfg
	two := s.start("two")
	one.shows("nodes that differ", func(r *wire.StatusReport) bool {
		return len(r.Nodes) == 2 && r.Nodes[0].Name == "one" && !r.Nodes[0].Differs && r.Nodes[1].Differs && r.Nodes[1].Rules != r.Nodes[0].Rules
	})
	for _, n := range []*node{one, two} {
		n.shows("verified", func(r *wire.StatusReport) bool { return r.Rules[0].Verified })
		var o wire.OrderedForm
		if code := n.post("/rules/negative-bin-stock/run", "", &o); code != http.StatusOK || o.Run == nil || o.Run.Outcome != "ok" || o.Run.Firing != 1 {
			t.Errorf("%d %+v", code, o)
		}
	}
	one.await(nil, 1)
	var runs wire.RunsForm
	if code, text := one.get("/rules/negative-bin-stock/runs", &runs); code != http.StatusOK || len(runs.Runs) != 2 {
		t.Errorf("%d %s", code, text)
	}
	var found wire.FindingsForm
	if code, text := two.get("/rules/negative-bin-stock/findings", &found); code != http.StatusOK || found.Total != 1 || found.Findings[0].State != "firing" {
		t.Errorf("%d %s", code, text)
	}
	two.stop()
	one.shows("a node that has left", func(r *wire.StatusReport) bool { return len(r.Nodes) == 1 })
}

// A pause stops every rule, a switch in the file's stead does not undo it, and resuming leaves the switches as they
// are.
func TestPauseAll(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sqliteWMS()
	s.rule("stock.yaml", stockRule)
	n := s.start("one")
	for _, c := range []struct {
		path, body string
		enabled    bool
	}{
		{"pause", fmt.Sprintf(`{"until":%q}`, time.Now().Add(time.Hour).Format(time.RFC3339)), false},
		{"negative-bin-stock/enable", "", false},
		{"resume", "", true},
		{"negative-bin-stock/disable?scope=", "", false},
		{"negative-bin-stock/clear", "", true},
	} {
		if code := n.post("/rules/"+c.path, c.body, nil); code != http.StatusOK || !n.enabled(c.enabled) {
			t.Errorf("%s: %d, %+v", c.path, code, n.status().Rules)
		}
	}
}

func (n *node) get(path string, answer any) (int, string) {
	n.t.Helper()
	code, text := n.do(http.MethodGet, "/api/v1"+path, "application/json", "")
	n.decode(text, answer)
	return code, text
}

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
