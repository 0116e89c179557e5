package e2e

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/cli"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// clockRules run every second. The gateway never takes their deliveries.
const clockRules = `
version: 1
defaults: {source: wms}
rules:
  - id: negative-bin
    schedule: {cron: "* * * * * *"}
    probe: {sql: "SELECT wh_id, bin_code, qty FROM bin_stock WHERE qty < 0"}
    key: [wh_id, bin_code]
    notice: {type: REP_NOTICE, warehouse: wh_id, title: "{{ .bin_code }}", fields: {bin: bin_code}, expires: 1h}
    deliver: [{sink: inbox}, {sink: gateway, strategy: important}]
`

// runsOf returns the runs of the rule in a clock term, the latest first.
func runsOf(t *testing.T, l ledger.Ledger, term int64) (runs []ledger.Run) {
	t.Helper()
	list, err := l.Runs(t.Context(), "negative-bin", nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range list {
		if run.Term == term {
			runs = append(runs, run)
		}
	}
	return runs
}

// awaitRuns waits until so many firings of a term are done.
func awaitRuns(t *testing.T, l ledger.Ledger, term int64, count int) {
	t.Helper()
	testenv.Eventually(t, func() bool { return len(runsOf(t, l, term)) >= count }, 60*time.Second)
}

// verifyTold compares the notices that runs have made with those in the ledger. None was taken for an old one, and none
// came twice.
func verifyTold(t *testing.T, l ledger.Ledger) {
	t.Helper()
	runs, err := l.Runs(t.Context(), "negative-bin", nil, 1000)
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, run := range runs {
		made += run.Notices
		if run.Outcome == ledger.OutcomeFailed {
			t.Errorf("a run failed: %+v", run)
		}
	}
	totals, err := l.Totals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, total := range totals {
		kept += int(total.Count)
	}
	if made != kept || made == 0 {
		t.Errorf("the runs made %d notices, the ledger has %d", made, kept)
	}
}

// The ledger's clock goes back by ten minutes, and then by a little more than nodes tolerate. Rules go on in new clock
// terms, and each firing runs once. No notice is taken for an old one, even where the same finding begins again at the
// same due time.
func TestTheLedgersClockGoesBack(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	pg := testenv.ClockedPostgres(t)
	c := newClusterOn(t, pg.Database(), longLease, clockRules)
	c.sinks("  gateway: {type: webhook, url: \"http://127.0.0.1:9/\", allow_private: true}\n")
	l := c.openLedger()
	one, two := c.start(0), c.start(1)
	// The finding comes and goes, so that each due time soon opens an episode.
	toggle := func(term int64, times int) {
		t.Helper()
		for range times {
			c.exec(t.Context(), `INSERT INTO bin_stock VALUES (119240, 'A-01', -1)`)
			awaitRuns(t, l, term, len(runsOf(t, l, term))+1)
			c.exec(t.Context(), `DELETE FROM bin_stock`)
			awaitRuns(t, l, term, len(runsOf(t, l, term))+1)
		}
	}
	toggle(0, 3)
	set := time.Now()
	pg.SetClock(-10 * time.Minute)
	awaitRuns(t, l, 1, 1)
	t.Logf("the first run of the new term was there after %s", time.Since(set).Round(100*time.Millisecond))
	toggle(1, 4)
	pg.SetClock(-10*time.Minute - 8*time.Second)
	awaitRuns(t, l, 2, 1)
	toggle(2, 6)
	for _, n := range []*node{one, two} {
		var status wire.StatusReport
		n.call(http.MethodGet, "/status", "", &status)
		if status.Clock == nil || status.Clock.Term != 2 || status.Clock.AheadSecs != 0 {
			t.Errorf("node %s: %+v", n.name, status.Clock)
		}
	}
	if said := one.command("clock", "show"); !strings.Contains(said, "Clock term 2") {
		t.Error(said)
	}
	one.kill() // and back once more, while no node runs
	two.kill()
	pg.SetClock(-20 * time.Minute)
	c.start(0)
	awaitRuns(t, l, 3, 2)
	toggle(3, 1)
	verifyTold(t, l)
}

// The ledger's clock goes ahead by two hours while nodes run. Until an operator confirms the clock, rules go on,
// nothing expires, and every node reports the jump. Two hours without nodes are no jump.
func TestTheLedgersClockGoesAhead(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	pg := testenv.ClockedPostgres(t)
	c := newClusterOn(t, pg.Database(), longLease, clockRules)
	c.sinks("  gateway: {type: webhook, url: \"http://127.0.0.1:9/\", allow_private: true}\n")
	l := c.openLedger()
	one, two := c.start(0), c.start(1)
	c.exec(t.Context(), `INSERT INTO bin_stock VALUES (119240, 'A-01', -1)`)
	waiting := func() ledger.DeliveryState {
		t.Helper()
		list, err := l.ListDeliveries(t.Context(), ledger.DeliveryFilter{Sink: "gateway", Limit: 9})
		if err != nil || len(list) != 1 {
			return -1
		}
		return list[0].State
	}
	testenv.Eventually(t, func() bool { return waiting() == ledger.DeliveryPending }, 60*time.Second)
	pg.SetClock(2 * time.Hour)
	set := time.Now()
	for _, n := range []*node{one, two} {
		var status wire.StatusReport
		testenv.Eventually(t, func() bool {
			return n.call(http.MethodGet, "/status", "", &status) == http.StatusOK && status.Clock != nil && status.Clock.AheadSecs > 7000
		}, 60*time.Second)
		testenv.Eventually(t, func() bool { return strings.Contains(n.text("/readyz"), "clock") }, 60*time.Second)
		testenv.Eventually(t, func() bool { return strings.Contains(n.text("/metrics"), "tallyman_clock_unconfirmed_seconds 7") }, 60*time.Second)
		var out, errs bytes.Buffer
		process := cli.Process{Args: []string{"status", "--server", n.base}, In: strings.NewReader(""), Out: &out, Err: &errs}
		if code := cli.Run(t.Context(), process, cli.Default()); code != 1 || !strings.Contains(out.String(), "clock_unconfirmed") {
			t.Errorf("status ends with %d: %s%s", code, &out, &errs)
		}
	}
	before := len(runsOf(t, l, 0))
	awaitRuns(t, l, 0, before+5)
	for _, run := range runsOf(t, l, 0) {
		if run.Due.After(time.Now().Add(time.Minute)) {
			t.Errorf("a firing by the new time: %+v", run)
		}
	}
	if state := waiting(); state != ledger.DeliveryPending {
		t.Errorf("after %s the delivery is %s", time.Since(set), state)
	}
	one.command("clock", "confirm", "--reason", "a drill")
	testenv.Eventually(t, func() bool { return waiting() == ledger.DeliveryCanceled }, 60*time.Second)
	testenv.Eventually(t, func() bool { return runsOf(t, l, 0)[0].Due.After(time.Now().Add(time.Hour)) }, 60*time.Second)
	if said := one.command("audit", "list", "--action", "clock"); !strings.Contains(said, "a drill") {
		t.Error(said)
	}
	one.kill()
	two.kill()
	pg.SetClock(4 * time.Hour)
	three := c.start(0)
	testenv.Eventually(t, func() bool { return runsOf(t, l, 0)[0].Due.After(time.Now().Add(3 * time.Hour)) }, 60*time.Second)
	var status wire.StatusReport
	if three.call(http.MethodGet, "/status", "", &status); status.Clock == nil || status.Clock.AheadSecs != 0 || status.Clock.Term != 0 {
		t.Errorf("two hours without nodes: %+v", status.Clock)
	}
	verifyTold(t, l)
}

// text is what the node answers outside of the API's version.
func (n *node) text(path string) string {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), http.MethodGet, n.base+path, http.NoBody)
	if err != nil {
		n.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return ""
	}
	return string(body)
}
