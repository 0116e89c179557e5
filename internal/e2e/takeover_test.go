package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// shippedLease is 0: the nodes have the leases of a configuration that says nothing.
const shippedLease = 0

// takeOverBound is generous: the machine does much else. A quiet one takes 4 to 4.5 s.
const takeOverBound = 15 * time.Second

// A node is killed while it has a firing, lanes of the inbox and of a queue, and calls of a webhook under way. Another
// node takes over all of it within seconds, and everybody is told once.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	rules := slowRule + tickRules("{sink: inbox}, {sink: replenishment}, {sink: gateway, strategy: important}")
	c := newCluster(t, shippedLease, "defaults: {source: wms}\n"+strings.TrimPrefix(rules, "\n"))
	c.exec(t.Context(), `CREATE TABLE pace (seconds FLOAT8 NOT NULL); INSERT INTO pace VALUES (45); INSERT INTO bin_stock VALUES (119240, 'A-01', -3)`)
	c.shelf()
	hook := newReceiver(t, 1, 1)
	hook.Always(testenv.ReplyHang)
	c.sinks("  " + workQueue + ": {type: queue}\n" + strings.Replace(webhook("gateway", hook), "}", ", timeout: 15s, concurrency: 200, breaker: {failures: 1000, open: 1s}}", 1))
	l := c.openLedger()
	bad := testenv.NewToxic(t, c.redis.Addr)
	c.configure(c.redis.Addr, bad.Addr)
	victim := c.start(0)
	claim := c.awaitScan(l)
	c.configure(bad.Addr, c.redis.Addr)
	heir := c.start(1)
	pause(6 * time.Second) // The heir buries nobody in its first seconds.

	bad.Silence() // What the victim delivers from now on hangs, and it keeps its lanes for seconds.
	bins := 0
	var held holdings
	testenv.Eventually(t, func() bool {
		bins++
		c.put(shelves(tickScopes)[bins%tickScopes], fmt.Sprintf("B-%d", bins))
		pause(200 * time.Millisecond)
		held = c.holds(claim.Node)
		return len(held.warehouses) > 0 && held.queue && len(held.pushes) > 0
	}, 60*time.Second)
	c.exec(t.Context(), `UPDATE pace SET seconds = 0`)
	killed := time.Now()
	victim.kill()
	hook.calm()
	took := c.watchTakeOver(l, claim, held, killed)
	for _, what := range slices.Sorted(maps.Keys(took)) {
		t.Logf("%-8s taken over %s after the kill", what, took[what].Round(time.Millisecond))
		if took[what] > takeOverBound {
			t.Errorf("%s waited %s", what, took[what])
		}
	}

	told := 2*bins + 1
	items := heir.awaitItems(item.Ready, 2*bins)
	testenv.Eventually(t, func() bool {
		counts, err := l.CountDeliveries(t.Context())
		return err == nil && counts[sink][ledger.DeliverySent] == int64(told) && counts["gateway"][ledger.DeliverySent] == int64(2*bins)
	}, 90*time.Second) // calls of the heir that hang have 15 s
	calls, _ := hook.seen()
	if again := repeats(calls); again > 0 {
		t.Errorf("the webhook took %d notices twice", again)
	}
	inbox := 0
	for _, wh := range append(shelves(tickScopes), "119240") {
		inbox += len(record(t, l, wh))
	}
	if inbox != told || len(items) != 2*bins {
		t.Errorf("the inboxes have %d notices of %d, the queue has %d items of %d", inbox, told, len(items), 2*bins)
	}
	if run := c.run(l, claim.Due); run.Node != heir.name || run.Outcome != ledger.OutcomeOK || run.Notices != 1 {
		t.Errorf("the firing was repeated as %+v", run)
	}
	heir.stop()
}

// holdings are what a session holds, as the ledger says.
type holdings struct {
	warehouses []string // lanes of the inbox
	queue      bool     // the lane of the queue
	pushes     []int64  // deliveries to the webhook
}

func (c *cluster) holds(session string) (h holdings) {
	c.t.Helper()
	db := c.connect()
	defer db.Close(c.t.Context())
	err := db.QueryRow(c.t.Context(), `SELECT ARRAY(SELECT warehouse FROM lanes WHERE node = $1 AND sink = $2), EXISTS (SELECT FROM lanes WHERE node = $1 AND sink = $3),
		ARRAY(SELECT seq FROM pushes WHERE node = $1 ORDER BY seq)`, session, sink, workQueue).Scan(&h.warehouses, &h.queue, &h.pushes)
	if err != nil {
		c.t.Fatal(err)
	}
	return h
}

// watchTakeOver waits until all that the session held has been done by another one, and returns how long each kind
// waited.
func (c *cluster) watchTakeOver(l ledger.Ledger, claim *ledger.Claim, held holdings, killed time.Time) map[string]time.Duration {
	t := c.t
	t.Helper()
	db := c.connect()
	took := map[string]time.Duration{}
	done := func(what, query string, args ...any) {
		var yes bool
		if took[what] == 0 && db.QueryRow(t.Context(), query, args...).Scan(&yes) == nil && yes {
			took[what] = time.Since(killed)
		}
	}
	testenv.Eventually(t, func() bool {
		const sent = `SELECT NOT EXISTS (SELECT FROM lanes l JOIN deliveries d ON d.lane_id = l.id WHERE l.sink = $1 AND l.warehouse = ANY($2) AND d.state = 0)`
		done("inbox", sent, sink, held.warehouses)
		done("queue", `SELECT NOT EXISTS (SELECT FROM lanes l JOIN deliveries d ON d.lane_id = l.id WHERE l.sink = $1 AND d.state = 0)`, workQueue)
		done("webhook", `SELECT NOT EXISTS (SELECT FROM deliveries WHERE seq = ANY($1) AND state = 0)`, held.pushes)
		if took["firing"] == 0 && c.run(l, claim.Due) != nil {
			took["firing"] = time.Since(killed)
		}
		return len(took) == 4
	}, 60*time.Second)
	return took
}

// A node that stands still for longer than its lease has another session when it goes on, and is told by the name that
// it had.
func TestAWokenNodeTakesAnotherSession(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	nodes := []*node{tr.start(0), tr.start(1)}
	testenv.Eventually(t, func() bool { return tr.heard() > 0 }, 30*time.Second)
	before := tr.session(nodes[0].name)
	nodes[0].signal(syscall.SIGSTOP)
	testenv.Eventually(t, func() bool { return tr.session(nodes[0].name) == "" }, 30*time.Second)
	pause(killLease)
	nodes[0].signal(syscall.SIGCONT)
	testenv.Eventually(t, func() bool { return tr.session(nodes[0].name) != "" }, 30*time.Second)
	after := tr.session(nodes[0].name)
	if before == after || delivery.NodeName(after) != nodes[0].name {
		t.Errorf("session %s after %s", after, before)
	}
	tr.finish(nodes, false)
	if left := tr.holds(before); len(left.warehouses)+len(left.pushes) > 0 || left.queue {
		t.Errorf("the old session holds %+v", left)
	}
}

// session is that of the node; "" = it has none.
func (tr *trial) session(name string) string {
	tr.t.Helper()
	list, err := tr.ledger.Nodes(tr.t.Context())
	if err != nil {
		tr.t.Fatal(err)
	}
	for i := range list {
		if list[i].Name == name {
			return list[i].Session
		}
	}
	return ""
}
