package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// takeoverLease is the lease of a node that dies over a scan.
const takeoverLease = 3 * time.Second

// A node dies in the middle of a scan. Another repeats the same firing when the lease is over, or a third of a lease later, whether the rule
// is due again soon or not, and everybody is told once.
func TestAKilledNodesFiringIsRepeatedWithinTheLease(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for name, cron := range map[string]string{"due again at once": everySecond, "due once a year": "0 0 1 1 *"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule := strings.NewReplacer(everySecond, cron, "{sink: inbox}", "{sink: inbox}, {sink: gateway}").Replace(slowRule)
			c := newSlowCluster(t, takeoverLease, rule, 40)
			hook := calmReceiver(t)
			c.sinks(webhook("gateway", hook))
			l := c.openLedger()
			nodes := map[string]*node{}
			for place := range nodesOfThree {
				n := c.start(place)
				nodes[n.name] = n
				if cron != everySecond && place == 0 {
					n.order()
				}
			}
			claim := c.awaitScan(l)
			holder := nodes[claim.Node]
			delete(nodes, claim.Node)
			c.exec(t.Context(), `UPDATE pace SET seconds = 0`)
			killed := time.Now()
			holder.kill()
			testenv.Eventually(t, func() bool { return c.run(l, claim.Due) != nil }, 30*time.Second)
			run := c.run(l, claim.Due)
			after := run.Started.Sub(killed)
			t.Logf("the firing was repeated %s after the death of its node, whose lease was %s", after, takeoverLease)
			if run.Node == claim.Node || run.Outcome != ledger.OutcomeOK || run.Notices != 1 {
				t.Errorf("the firing was repeated as %+v", run)
			}
			if run.Started.Before(claim.LeaseUntil.Add(-clockSlack)) || after > takeoverLease+takeoverLease/3+3*clockSlack {
				t.Errorf("the firing was repeated %s after the death of its node, the lease ran until %v", after, claim.LeaseUntil)
			}
			testenv.Eventually(t, func() bool {
				counts, err := l.CountDeliveries(t.Context())
				return err == nil && counts[sink][ledger.DeliverySent] == 1 && counts["gateway"][ledger.DeliverySent] == 1
			}, 20*time.Second)
			for _, n := range nodes {
				n.stop()
			}
			calls, _ := hook.seen()
			if told := record(t, l, "119240"); len(told) != 1 || len(calls) != 1 {
				t.Errorf("the inbox was told %d times, the webhook %d times", len(told), len(calls))
			}
			if left, err := l.Abandoned(t.Context()); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// order asks the node to run the rule now. Nobody waits for the answer, which a node that dies does not give.
func (n *node) order() {
	n.t.Helper()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		n.call(http.MethodPost, "/rules/"+stateRule+"/run", "", &struct{}{})
	}()
	n.t.Cleanup(func() { <-answered })
}
