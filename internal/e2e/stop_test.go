package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// everySecond is a cron.
const everySecond = "* * * * * *"

// slowRule is a rule whose scan takes as long as a table of the WMS says.
const slowRule = `
version: 1
rules:
  - id: negative-bin-stock
    source: wms
    schedule: {cron: "` + everySecond + `"}
    probe:
      sql: SELECT wh_id, bin_code, qty FROM bin_stock WHERE qty < 0 AND (SELECT pg_sleep((SELECT seconds FROM pace))) IS NOT NULL
      timeout: 50s
    key: [wh_id, bin_code]
    notice: {type: REP_NOTICE, warehouse: wh_id, title: "Bin {{ .bin_code }}", fields: {bin: bin_code}, send_resolved: true}
    deliver: [{sink: inbox}]
`

// longLease is too long to wait for. A firing that is taken over sooner was given back.
const longLease = 30 * time.Second

// newSlowCluster is a cluster with one bad bin and a slow rule, whose scans take the seconds.
func newSlowCluster(t *testing.T, lease time.Duration, rule string, seconds float64) *cluster {
	t.Helper()
	c := newCluster(t, lease, rule)
	c.exec(t.Context(), `CREATE TABLE pace (seconds FLOAT8 NOT NULL)`)
	c.exec(t.Context(), `INSERT INTO pace VALUES ($1)`, seconds)
	c.exec(t.Context(), `INSERT INTO bin_stock VALUES (119240, 'A-01', -3)`)
	return c
}

// awaitScan returns when a probe is at work in the WMS, with the claim that it runs under.
func (c *cluster) awaitScan(l ledger.Ledger) *ledger.Claim {
	c.t.Helper()
	testenv.Eventually(c.t, func() bool {
		var busy bool
		err := c.wms.QueryRow(c.t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event = 'PgSleep')`).Scan(&busy)
		return err == nil && busy
	}, 20*time.Second)
	state, err := l.Scope(c.t.Context(), stateRule, "")
	if err != nil || state.Running == nil {
		c.t.Fatalf("nothing runs: %+v, %v", state, err)
	}
	return state.Running
}

// run returns the record of a firing, or nil.
func (c *cluster) run(l ledger.Ledger, due time.Time) *ledger.Run {
	c.t.Helper()
	runs, err := l.Runs(c.t.Context(), stateRule, nil, 1000)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, run := range runs {
		if run.Due.Equal(due) {
			return &run
		}
	}
	return nil
}

// askAndWait sends a poll that waits, and returns when the node has it. The answer is to be a page.
func (c *cluster) askAndWait(n *node, answered chan<- error) {
	c.t.Helper()
	poll := func(ctx context.Context, wait string) error {
		cl := &client{c: c}
		cl.http.Transport = &http.Transport{DisableKeepAlives: true}
		q := url.Values{"warehouse": {"119240"}, "subscriber": {"role:keeper"}, "wait": {wait}}
		code, p, err := cl.get(ctx, n.base+"/api/v1/notices?"+q.Encode())
		if err == nil && (code != http.StatusOK || p.Cursor == "") {
			err = fmt.Errorf("the answer is %d, %+v", code, p)
		}
		return err
	}
	sent := make(chan struct{})
	ctx := httptrace.WithClientTrace(c.t.Context(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) },
	})
	go func() { answered <- poll(ctx, "50s") }()
	<-sent
	// Connections are taken in their order, so when a later one is answered this one has been taken.
	if err := poll(c.t.Context(), "0s"); err != nil {
		c.t.Fatal(err)
	}
}

// A node that is stopped finishes its running firing, and answers the client that waits.
func TestStopFinishesWhatRuns(t *testing.T) {
	t.Parallel()
	c := newSlowCluster(t, longLease, slowRule, 2)
	l := c.openLedger()
	n := c.start(0)
	claim := c.awaitScan(l)

	answered := make(chan error, 1)
	c.askAndWait(n, answered)
	if took := n.stop(); took > 10*time.Second {
		t.Errorf("it took %v to stop", took)
	}
	if err := <-answered; err != nil {
		t.Errorf("the client that waits gets no answer: %v", err)
	}
	if run := c.run(l, claim.Due); run == nil || run.Outcome != ledger.OutcomeOK || run.Firing != 1 {
		t.Errorf("the firing ended as %+v", run)
	}
	if left, err := l.Abandoned(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A stopped node gives back a firing that it cannot finish in its grace period. Another node repeats the firing at
// once, without waiting for the end of the lease.
func TestStopGivesBackWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	c := newSlowCluster(t, longLease, slowRule, 40)
	l := c.openLedger()
	nodes := map[string]*node{}
	for place := range 2 {
		n := c.start(place, childGrace+"=300ms")
		nodes[n.name] = n
	}
	claim := c.awaitScan(l)
	c.exec(t.Context(), `UPDATE pace SET seconds = 0`)
	name := delivery.NodeName(claim.Node)
	holder := nodes[name]
	delete(nodes, name)
	if took := holder.stop(); took > 5*time.Second {
		t.Errorf("it took %v to stop", took)
	}
	testenv.Eventually(t, func() bool { return c.run(l, claim.Due) != nil }, 5*time.Second)
	if run := c.run(l, claim.Due); run.Node == name || run.Outcome != ledger.OutcomeOK || run.Notices != 1 {
		t.Errorf("the firing was repeated as %+v", run)
	}
	testenv.Eventually(t, func() bool { return len(record(t, l, "119240")) == 1 }, 5*time.Second)
	for _, other := range nodes {
		other.stop()
	}
}
