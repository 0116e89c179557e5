package e2e

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// drainDelay sets how long a node that goes out of service goes on to answer.
func drainDelay(d time.Duration) string { return "TALLYMAN_NODE__DRAIN_DELAY=" + d.String() }

// An operator drains a node. Another node runs each firing from then on. The drained node answers, but nobody waits at
// it any more, and each place that shows faults shows the drain.
func TestDrain(t *testing.T) {
	t.Parallel()
	c := newCluster(t, longLease, "version: 1\ndefaults: {source: wms}\nrules:\n"+tickRules("{sink: inbox}"))
	c.shelf()
	l := c.openLedger()
	drained, other := c.start(0, drainDelay(time.Second)), c.start(1)
	testenv.Eventually(t, func() bool {
		_, ok := byNode(c.firings(l, everyRule).runs)[drained.name]
		return ok
	}, 30*time.Second)
	answered := make(chan error, 1)
	c.askAndWait(drained, answered)

	form := wire.DrainForm{}
	if status := other.call(http.MethodPost, "/drain", `{"node":"`+drained.name+`"}`, &form); status != http.StatusConflict {
		t.Errorf("another node answers %d", status)
	}
	asked := time.Now()
	if status := drained.call(http.MethodPost, "/drain", `{"node":"`+drained.name+`"}`, &form); status != http.StatusOK || form.State != wire.DrainRuns {
		t.Fatalf("drain: %d %+v", status, form)
	}
	if status, text := drained.readyz(); status != http.StatusServiceUnavailable || !strings.Contains(text, "drain: not ready") {
		t.Errorf("ready while it drains: %d %s", status, text)
	}
	testenv.Eventually(t, func() bool {
		return drained.call(http.MethodGet, "/drain", "", &form) == http.StatusOK && form.State == wire.DrainDone
	}, 20*time.Second)
	if took := time.Since(asked); took < time.Second {
		t.Errorf("drained after %s, before the delay was over", took)
	}
	if err := <-answered; err != nil {
		t.Errorf("the client that waits gets no answer: %v", err)
	}
	since := time.Now()
	c.askAndWait(drained, answered) // which is answered at once
	if err := <-answered; err != nil || time.Since(since) > 20*time.Second {
		t.Errorf("a poll waits at a drained node: %v", err)
	}
	var status wire.StatusReport
	if code := drained.call(http.MethodGet, "/status", "", &status); code != http.StatusOK {
		t.Errorf("status: %d", code)
	}
	shown := false
	for _, h := range status.Health {
		shown = shown || h.Part == "drain" && !h.OK
	}
	for _, n := range status.Nodes {
		if n.Name == drained.name && len(n.Lanes) > 0 {
			t.Errorf("the drained node holds lanes: %+v", n.Lanes)
		}
	}
	if !shown {
		t.Errorf("status does not show the drain: %+v", status.Health)
	}

	c.awaitFirings(l, tickScopes, since.Add(2*time.Second), everyRule, latestRule)
	if code := drained.call(http.MethodGet, "/status", "", &status); code != http.StatusOK {
		t.Errorf("status: %d", code)
	}
	for _, r := range status.Rules {
		if r.Late {
			t.Errorf("the drained node calls %s %s late, which another node runs", r.ID, r.Scope)
		}
	}
	if took := drained.stop(); took > 5*time.Second {
		t.Errorf("it took %v to stop a drained node", took)
	}
	other.stop()
	for _, rule := range []string{everyRule, latestRule} {
		f := c.firings(l, rule)
		f.gapless(none)
		for _, run := range f.runs {
			if run.Started.After(since) && run.Outcome == ledger.OutcomeOK && run.Node == drained.name {
				t.Errorf("the drained node ran %+v", run)
			}
		}
	}
}

// A node that is told to stop says so to load balancers, and answers as before until its delay is over.
func TestStopGivesLoadBalancersTime(t *testing.T) {
	t.Parallel()
	c := newCluster(t, longLease, "version: 1\ndefaults: {source: wms}\nrules:\n"+tickRules("{sink: inbox}"))
	c.shelf()
	const delay = 3 * time.Second
	n := c.start(0, drainDelay(delay))
	began := time.Now()
	n.signal(syscall.SIGTERM)
	testenv.Eventually(t, func() bool { code, _ := n.readyz(); return code == http.StatusServiceUnavailable }, delay)
	answered := make(chan error, 1)
	c.askAndWait(n, answered)
	pause(100 * time.Millisecond)
	if len(answered) > 0 {
		t.Fatalf("a poll does not wait before the delay is over: %v", <-answered)
	}
	if err := <-answered; err != nil {
		t.Errorf("the client that waits gets no answer: %v", err)
	}
	<-n.ended
	if took := time.Since(began); n.err != nil || took < delay {
		t.Errorf("the node ended after %s: %v", took, n.err)
	}
}

// byNode counts runs by the node that ran them.
func byNode(runs []ledger.Run) map[string]int {
	count := map[string]int{}
	for _, run := range runs {
		count[run.Node]++
	}
	return count
}

// readyz asks whether the node is ready.
func (n *node) readyz() (status int, text string) {
	n.t.Helper()
	resp, err := http.Get(n.base + "/readyz")
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body := make([]byte, 4096)
	read, _ := resp.Body.Read(body)
	return resp.StatusCode, string(body[:read])
}
