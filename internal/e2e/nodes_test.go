package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

const (
	nodesOfThree = 3
	tickScopes   = 4
)

// Three nodes share the work. Each firing runs once, on one of them, and its notices reach inbox, queue and webhook
// once.
func TestThreeNodesShareTheFirings(t *testing.T) {
	t.Parallel()
	c := newCluster(t, longLease, "version: 1\ndefaults: {source: wms}\nrules:\n"+tickRules("{sink: inbox}, {sink: replenishment}, {sink: gateway}"))
	c.shelf()
	hook := calmReceiver(t)
	c.sinks("  " + workQueue + ": {type: queue}\n" + webhook("gateway", hook))
	l := c.openLedger()
	var nodes []*node
	for place := range nodesOfThree {
		nodes = append(nodes, c.start(place))
	}
	began := time.Now()
	bins := 0
	for until := began.Add(4 * time.Second); time.Now().Before(until); pause(100 * time.Millisecond) {
		for _, wh := range shelves(tickScopes)[:1+bins%tickScopes] {
			bins++
			c.put(wh, fmt.Sprintf("B-%d", bins))
		}
	}
	c.awaitFirings(l, tickScopes, time.Now(), everyRule, latestRule)
	testenv.Eventually(t, func() bool { return slices.Min(c.shares(l, began)) > 2*leastShare }, 30*time.Second)
	told := 2 * bins // by each of the rules
	items := nodes[0].awaitItems(item.Ready, told)
	testenv.Eventually(t, func() bool {
		counts, err := l.CountDeliveries(t.Context())
		return err == nil && counts[sink][ledger.DeliverySent] == int64(told) && counts["gateway"][ledger.DeliverySent] == int64(told)
	}, 30*time.Second)
	for _, n := range nodes {
		n.stop()
	}

	c.verifyTicks(l, began)
	calls, _ := hook.seen()
	findings := map[string]int{}
	for _, one := range calls {
		findings[one.Rule+one.Key]++
	}
	if len(calls) != told || len(findings) != told {
		t.Errorf("the webhook was called %d times, of %d findings; there are %d", len(calls), len(findings), told)
	}
	ids := map[string]bool{}
	for _, one := range items {
		ids[one.ID] = true
	}
	if len(ids) != told {
		t.Errorf("%d items of %d findings", len(ids), told)
	}
	inbox := 0
	for _, wh := range shelves(tickScopes) {
		inbox += len(record(t, l, wh))
	}
	if inbox != told {
		t.Errorf("the inboxes have %d notices of %d findings", inbox, told)
	}
}

// takeoverLease is the lease of a node that dies over a scan.
const takeoverLease = 3 * time.Second

// A node dies in the middle of a scan. Another node repeats the same firing when the lease ends, or a third of a lease
// later, even if the rule is not due again soon. Everybody gets the notice once.
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
			name := delivery.NodeName(claim.Node)
			holder := nodes[name]
			delete(nodes, name)
			c.exec(t.Context(), `UPDATE pace SET seconds = 0`)
			killed := time.Now()
			holder.kill()
			testenv.Eventually(t, func() bool { return c.run(l, claim.Due) != nil }, 30*time.Second)
			run := c.run(l, claim.Due)
			after := run.Started.Sub(killed)
			t.Logf("the firing was repeated %s after the death of its node, whose lease was %s", after, takeoverLease)
			if run.Node == name || run.Outcome != ledger.OutcomeOK || run.Notices != 1 {
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

// Nodes are restarted one after the other, as for a new version. No firing is missed and none runs twice, because other
// nodes go on, whatever catch_up of the rule says. Clients that poll, or follow a stream, go on at other nodes.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	c := newCluster(t, longLease, worldRules+tickRules("{sink: inbox}"))
	c.shelf()
	tr := trialOf(c)
	var nodes []*node
	for place := range nodesOfThree {
		nodes = append(nodes, tr.start(place))
	}
	testenv.Eventually(t, func() bool { return tr.heard() > 0 }, 30*time.Second)
	began := time.Now()
	for place, n := range nodes {
		n.stop()
		pause(500 * time.Millisecond)
		nodes[place] = tr.start(place)
		tr.awaitFirings(tr.ledger, tickScopes, time.Now(), everyRule, latestRule)
	}
	tr.finish(nodes, false)
	tr.verifyTicks(tr.ledger, began)
	excused := tr.firings(tr.ledger, everyRule).standstill()
	tr.firings(tr.ledger, stateRule).gapless(excused)
	tr.firings(tr.ledger, eventRule).gapless(excused)
	for _, cl := range tr.clients {
		if cl.refused == 0 {
			t.Errorf("a client of %s noticed nothing: the test does not test", cl.warehouse)
		}
	}
}

// A node freezes, as on a machine that is moved or swaps. When it thaws, another node has taken over. Its remaining
// work changes nothing, and it goes on normally.
func TestFrozenNode(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	other := tr.start(1)
	for _, step := range []string{engine.StepScanned, engine.StepCommitting, engine.StepDelivering, engine.StepDelivered} {
		n := freezes(t, func() *node { return tr.start(0, childFreezes+"="+step) })
		pause(3 * killLease / 2)
		n.signal(syscall.SIGCONT)
		pause(killLease / 2)
		n.stop()
	}
	tr.finish([]*node{other}, false)
}

// A node freezes with an open transaction, between two statements. No notice is lost or doubled, whether or not the
// ledger's server has ended the transaction before the node thaws.
func TestFrozenInTheMiddleOfACommit(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "idle_in_transaction_session_timeout="+killLease.String())
	nodes := map[string]*node{}
	var all []*node
	for place := range 2 {
		n := tr.start(place)
		nodes[n.name], all = n, append(all, n)
	}
	testenv.Eventually(t, func() bool { return tr.heard() > 0 }, 30*time.Second)
	stopped := tr.freezeInCommit(nodes)
	pause(3 * killLease)
	for _, n := range all {
		n.signal(syscall.SIGCONT)
	}
	testenv.Eventually(t, func() bool {
		state, err := tr.ledger.Scope(t.Context(), stateRule, warehouses[0])
		return err == nil && state.Done.After(stopped)
	}, 30*time.Second)
	tr.finish(all, false)
}

// freezeInCommit freezes the node that runs the state rule, in a transaction that has locked the rule and is not
// finished. It returns the due time of that run.
func (tr *trial) freezeInCommit(nodes map[string]*node) time.Time {
	t := tr.t
	t.Helper()
	tx, err := tr.connect().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE firings IN EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	look := tr.connect()
	var node string
	var due int64
	testenv.Eventually(t, func() bool {
		var waiting, locked bool // a commit for the table; the rule
		// The claim need not be in force any more: nobody renews it during a commit, and nobody can take it while the
		// rule is locked.
		err := look.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'firings'::regclass AND NOT granted),
			NOT EXISTS (SELECT FROM rule_scopes WHERE rule = $1 AND scope = $2 FOR NO KEY UPDATE SKIP LOCKED), running_node, coalesce(running_due, 0)
			FROM rule_scopes WHERE rule = $1 AND scope = $2`, stateRule, warehouses[0]).Scan(&waiting, &locked, &node, &due)
		return err == nil && waiting && locked && due > 0
	}, 30*time.Second)
	nodes[delivery.NodeName(node)].signal(syscall.SIGSTOP)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	return time.UnixMicro(due)
}
