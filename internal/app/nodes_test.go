package app_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/internal/ledger"
	pgledger "tallyman/internal/ledger/postgres"
	"tallyman/internal/testenv"
)

// openLedger opens the site's ledger beside its nodes.
func (s *site) openLedger() ledger.Ledger {
	s.t.Helper()
	l, err := pgledger.Open(context.Background(), s.cfg.Ledger.URL.Reveal(), ledger.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = l.Close() })
	return l
}

// everyScope is a rule of eight scopes that wants each of its firings, however late.
const everyScope = `
version: 1
rules:
  - id: every-second
    source: wms
    schedule: {cron: "* * * * * *", catch_up: all}
    scopes: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}, {name: h}]
    probe: {sql: "SELECT wh_id, bin_code, sku, qty FROM bin_stock"}
    key: [bin_code]
    notice: {type: REP_NOTICE, warehouse: wh_id, title: "Bin", fields: {bin: bin_code}}
    deliver: [{sink: inbox}]
`

// Two nodes share the firings: each is run once, by one of them, and none is left out.
func TestTwoNodesRunEachFiringOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.realServers()
	s.postgresWMS().exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	s.rule("every.yaml", everyScope)
	var scanned atomic.Int64
	s.step = func(step string) {
		if step == engine.StepScanned {
			scanned.Add(1)
		}
	}
	nodes := []*node{s.start("one"), s.start("two")}
	l := s.openLedger()
	var runs []ledger.Run
	testenv.Eventually(t, func() bool {
		runs = readRuns(t, l)
		return len(runs) >= 5*8
	}, 30*time.Second)
	for _, n := range nodes {
		n.stop()
	}
	runs = readRuns(t, l)

	by := map[string]int{}
	last := map[string]time.Time{}
	scans := int64(0)
	for _, run := range runs {
		// One that is skipped stands for all that came due while the one before ran.
		if before := last[run.Scope]; !before.IsZero() && run.Due.Sub(before) != time.Second && run.Outcome != ledger.OutcomeSkipped {
			t.Errorf("after %v scope %s ran %v", before, run.Scope, run.Due)
		}
		last[run.Scope] = run.Due
		if run.Outcome == ledger.OutcomeOK {
			by[run.Node]++
			scans++
		}
	}
	if by["one"] == 0 || by["two"] == 0 || scans != scanned.Load() {
		t.Errorf("the runs are of %v; the nodes made %d scans", by, scanned.Load())
	}
	if inbox, err := l.Delivered(t.Context(), ledger.Lane{Sink: "inbox", Warehouse: "119240"}, 0, 100); err != nil || len(inbox) != 8 {
		t.Errorf("%d notices of 8 scopes: %v", len(inbox), err)
	}
}

// readRuns returns the runs of every-second, oldest first.
func readRuns(t *testing.T, l ledger.Ledger) []ledger.Run {
	t.Helper()
	runs, err := l.Runs(t.Context(), "every-second", nil, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(runs, func(a, b ledger.Run) int { return a.Due.Compare(b.Due) })
	return runs
}

// commits notes when notices were committed, and by which node. It takes one notice at a time.
type commits struct {
	mu       sync.Mutex
	last, at time.Time // of the last commit, and of the one before the last delivery
	by, node string    // who made them
}

// of returns the Step of a node.
func (c *commits) of(node string) func(step string) {
	return func(step string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch step {
		case engine.StepCommitted:
			c.last, c.by = time.Now(), node
		case engine.StepDelivering:
			c.at, c.node = c.last, c.by
		}
	}
}

// A client that waits at another node than the one that commits has the notice at once, because the nodes hint at it through Redis.
func TestNoticeReachesClientsOfOtherNodes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.realServers()
	wms := s.postgresWMS()
	s.rule("stock.yaml", stockRule)
	made := &commits{}
	nodes := map[string]*node{}
	cursors := map[string]string{}
	for _, name := range []string{"one", "two"} {
		s.step = made.of(name)
		nodes[name] = s.start(name)
	}
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-00', 'S1', -1)`)
	for name, n := range nodes {
		cursors[name] = n.await(nil, 1).Cursor
	}

	var elsewhere []time.Duration
	for round := range 6 {
		// Half a second off the beat of the rule, so that nobody is there by chance when the notice comes.
		<-time.After(time.Until(time.Now().Truncate(time.Second).Add(1500 * time.Millisecond)))
		came := map[string]time.Time{}
		var mu sync.Mutex
		var waiting sync.WaitGroup
		for name, n := range nodes {
			waiting.Go(func() {
				code, p := n.poll(url.Values{"after": {cursors[name]}, "wait": {"20s"}})
				mu.Lock()
				defer mu.Unlock()
				if code != http.StatusOK || len(p.Notices) != 1 {
					t.Errorf("the client of node %s gets %d, %+v", name, code, p)
				}
				came[name], cursors[name] = time.Now(), p.Cursor
			})
		}
		wms.exec(fmt.Sprintf(`INSERT INTO bin_stock VALUES (119240, 'A-1%d', 'S1', -1)`, round))
		waiting.Wait()
		made.mu.Lock()
		for name, at := range came {
			if name != made.node {
				elsewhere = append(elsewhere, at.Sub(made.at))
			}
		}
		made.mu.Unlock()
	}
	slices.Sort(elsewhere)
	t.Logf("from the commit to the client of the other node: %v", elsewhere)
	// Without a hint a client would be told by the look that its node has every second: always half a second later here. A machine that does much at
	// once may be late with a hint, but not with each.
	if len(elsewhere) != 6 || elsewhere[0] > 300*time.Millisecond {
		t.Errorf("from the commit to the client of the other node: %v", elsewhere)
	}
}
