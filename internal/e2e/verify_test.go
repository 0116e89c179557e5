package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

const sink = "inbox"

// settle waits until all changes up to now have been found, delivered and recorded.
func (w *world) settle(l ledger.Ledger, clients []*client) {
	t := w.c.t
	t.Helper()
	began := time.Now()
	var missing error
	defer func() {
		if t.Failed() {
			t.Logf("not settled: %v", missing)
		}
	}()
	testenv.Eventually(t, func() bool {
		missing = w.settled(l, clients, began)
		return missing == nil
	}, 90*time.Second)
}

// settled returns what is still missing. Only runs that began after the last change have surely seen it. One more run
// must then change nothing.
func (w *world) settled(l ledger.Ledger, clients []*client, lastChange time.Time) error {
	runs, err := l.LastRuns(w.c.t.Context())
	if err != nil {
		return err
	}
	for _, run := range runs {
		if !run.Started.After(lastChange) || run.Outcome != ledger.OutcomeOK {
			return fmt.Errorf("the last run of %s %s is %+v", run.Rule, run.Scope, run)
		}
	}
	counts, err := l.CountDeliveries(w.c.t.Context())
	if err != nil {
		return err
	}
	if n := counts[sink][ledger.DeliveryPending]; n > 0 {
		return fmt.Errorf("%d deliveries are pending", n)
	}
	for _, cl := range clients {
		if what := w.known(cl); what != "" {
			return errors.New(what)
		}
	}
	return nil
}

// record is what was delivered to a warehouse according to the ledger, in the order of the scores.
func record(t *testing.T, l ledger.Ledger, warehouse string) []ledger.ScoredDelivery {
	t.Helper()
	list, err := l.Delivered(t.Context(), ledger.Lane{Sink: sink, Warehouse: warehouse}, 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// verify compares the ledger, the clients and Redis, after the nodes have ended. Where Redis lost nothing, no client
// ever had to start again, and clients got the notices in the ledger's order.
func (c *cluster) verify(l ledger.Ledger, clients []*client, redisLost bool) {
	t := c.t
	t.Helper()
	total := 0
	verified := map[string]bool{}
	for _, cl := range clients {
		want := record(t, l, cl.warehouse)
		cl.verify(want, redisLost)
		if verified[cl.warehouse] {
			continue // by another client
		}
		verified[cl.warehouse] = true
		total += len(want)
		c.verifyInboxes(cl.warehouse, want)
	}
	c.verifyLedger(l, total)
}

// verify checks that the client got exactly what the ledger has recorded.
func (cl *client) verify(want []ledger.ScoredDelivery, redisLost bool) {
	t := cl.c.t
	t.Helper()
	t.Logf("client of %s: %d notices; resets %d, polls refused %d, told to come again %d", cl.warehouse, len(cl.notices), cl.resets, cl.refused, cl.later)
	if len(cl.faults) > 0 {
		t.Errorf("answers of %s: %q", cl.warehouse, cl.faults)
	}
	if len(cl.repeated) > 0 {
		t.Errorf("the client of %s got %q twice without a reset", cl.warehouse, cl.repeated)
	}
	var wanted, got []string
	for _, d := range want {
		wanted = append(wanted, d.Notice.ID)
	}
	for _, n := range cl.notices {
		got = append(got, n.ID)
	}
	if !redisLost && cl.resets > 0 {
		t.Errorf("the client of %s had to begin anew %d times although Redis lost nothing", cl.warehouse, cl.resets)
	}
	if redisLost { // what had no recorded score comes again with a later one
		slices.Sort(wanted)
		slices.Sort(got)
	}
	if !slices.Equal(wanted, got) {
		t.Errorf("the client of %s heard\n%q, the ledger has\n%q", cl.warehouse, got, wanted)
	}
	last := map[string]string{}
	for _, n := range cl.notices {
		switch before := last[n.Rule+n.Key]; {
		case n.Status == "event" && before == "", n.Status == "firing" && before != "firing", n.Status == "resolved" && before == "firing":
		default:
			t.Errorf("the client of %s heard %q of %s after %q", cl.warehouse, n.Status, n.Key, before)
		}
		last[n.Rule+n.Key] = n.Status
	}
}

// verifyInboxes checks that the inboxes in Redis have what the ledger has recorded, once each and with the same scores.
func (c *cluster) verifyInboxes(warehouse string, want []ledger.ScoredDelivery) {
	t := c.t
	t.Helper()
	client := c.redis.Client(t)
	for _, subscriber := range []string{"role:keeper", "user:7"} {
		inbox, err := client.ZRangeWithScores(t.Context(), "tallyman:inbox:{"+warehouse+"}:of:"+subscriber, 0, -1).Result()
		if err != nil {
			t.Fatal(err)
		}
		var has, wanted []string
		for _, z := range inbox {
			has = append(has, fmt.Sprintf("%s %.0f", z.Member, z.Score))
		}
		for _, d := range want {
			if slices.Contains(d.Recipients, subscriber) {
				wanted = append(wanted, fmt.Sprintf("%s %d", d.Notice.ID, d.Score))
			}
		}
		if !slices.Equal(has, wanted) {
			t.Errorf("the inbox of %s in %s has\n%q, the ledger\n%q", subscriber, warehouse, has, wanted)
		}
	}
}

// verifyLedger checks that every firing was committed once, that nothing is unfinished, and that every notice was
// delivered.
func (c *cluster) verifyLedger(l ledger.Ledger, delivered int) {
	t := c.t
	t.Helper()
	counts, err := l.CountDeliveries(t.Context())
	if err != nil || len(counts[sink]) != 1 || counts[sink][ledger.DeliverySent] != int64(delivered) {
		t.Errorf("deliveries are %v, %d were recorded: %v", counts, delivered, err)
	}
	totals, err := l.Totals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	notices := map[string]int{}
	for _, n := range totals {
		notices[n.Rule] += int(n.Count)
	}
	if all := notices[stateRule] + notices[eventRule]; all != delivered {
		t.Errorf("the ledger has %d notices, %d were delivered", all, delivered)
	}
	if left, err := l.Abandoned(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("firings were left: %v, %v", left, err)
	}
	for _, rule := range []string{stateRule, eventRule} {
		if made := c.verifyRuns(l, rule); made != notices[rule] {
			t.Errorf("the runs of %s made %d notices, the ledger has %d", rule, made, notices[rule])
		}
	}
}

// verifyRuns proves that no firing was committed twice, and returns how many notices they made.
func (c *cluster) verifyRuns(l ledger.Ledger, rule string) (made int) {
	c.t.Helper()
	runs, err := l.Runs(c.t.Context(), rule, nil, 10_000)
	if err != nil {
		c.t.Fatal(err)
	}
	nodes := map[string]int{}
	seen := map[string]bool{}
	for _, run := range runs {
		firing := run.Scope + run.Due.String()
		if seen[firing] {
			c.t.Errorf("the firing of %s %s at %v was committed twice", rule, run.Scope, run.Due)
		}
		cut := c.badNetwork && strings.HasPrefix(run.Error, "commit_refused") // the next run makes up for it
		if run.Outcome != ledger.OutcomeOK && run.Outcome != ledger.OutcomeSkipped && !cut {
			c.t.Errorf("a run went wrong: %+v", run)
		}
		seen[firing] = true
		made += run.Notices
		nodes[run.Node[:strings.LastIndexByte(run.Node, '-')]]++
	}
	c.t.Logf("%s: %d runs, %v", rule, len(runs), nodes)
	return made
}
