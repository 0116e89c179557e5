package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// A PostgreSQL is killed under load, and its synchronous standby promoted. No client is answered reset. Every notice
// arrives once and every item is finished once. Runs go on within seconds.
func TestPostgresFailsOver(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	primary := testenv.PostgresServer(t)
	primary.Shell("createdb tallyman")
	standby := primary.Standby(true)
	c := newClusterOn(t, testenv.HostsURL("tallyman", primary, standby), shippedLease, worldRules+tickRules("{sink: replenishment}, {sink: gateway}"))
	c.shelf()
	hook := calmReceiver(t)
	c.sinks("  " + workQueue + ": {type: queue, lease: 60s}\n" + webhook("gateway", hook))
	tr := trialOf(c)
	nodes := []*node{tr.start(0), tr.start(1)}
	stopLoad := tr.load(nodes[0])
	testenv.Eventually(t, func() bool { return tr.heard() > 2 }, 30*time.Second)
	tr.awaitFirings(tr.ledger, tickScopes, time.Now(), everyRule, latestRule)

	killed := time.Now()
	primary.Kill()
	pause(time.Second) // as long as something needs that watches the servers
	standby.Promote()
	promoted := time.Now()
	tr.awaitFirings(tr.ledger, tickScopes, promoted, everyRule, latestRule)
	t.Logf("runs went on %s after the promotion, %s after the kill", time.Since(promoted).Round(time.Millisecond), time.Since(killed).Round(time.Millisecond))

	told := 2 * stopLoad()
	done := nodes[0].awaitItems(item.Done, told)
	testenv.Eventually(t, func() bool {
		counts, err := tr.ledger.CountDeliveries(t.Context())
		return err == nil && counts["gateway"][ledger.DeliverySent] == int64(told)
	}, 30*time.Second)
	bins := map[string]int{}
	for _, one := range done {
		bins[bin(t, one)]++
		ends := slices.DeleteFunc(nodes[0].traced(one.ID).Trace, func(m wire.MoveForm) bool { return m.To != string(item.Done) })
		if len(ends) != 1 {
			t.Errorf("item %s was done %d times: %s", one.ID, len(ends), course(nodes[0].traced(one.ID)))
		}
	}
	calls, _ := hook.seen()
	ids := map[string]bool{}
	for _, one := range calls {
		ids[one.ID] = true
	}
	if len(bins) != told/2 || len(ids) != told {
		t.Errorf("of %d findings there is work on %d bins, and webhooks with %d ids", told, len(bins), len(ids))
	}
	t.Logf("%d webhooks, %d of them came again with their ids", len(calls), repeats(calls))
	tr.finish(nodes, false)
	tr.firings(tr.ledger, everyRule).gapless(none)
}

// load finds bins below zero and has a worker finish the work on them. stop ends the finding, and returns how many bins
// there were; the worker goes on to the end of the test.
func (tr *trial) load(n *node) (stop func() (bins int)) {
	stop = tr.loseBins()
	var isOver atomic.Bool
	var working sync.WaitGroup
	working.Go(func() {
		for !isOver.Load() {
			var got wire.LeasedItemsForm
			n.ask(http.MethodPost, "/lease", `{"worker":"anna","max":5}`, &got)
			for _, one := range got.Items {
				n.finish(one, &isOver)
			}
			pause(50 * time.Millisecond)
		}
	})
	tr.t.Cleanup(func() {
		isOver.Store(true)
		working.Wait()
	})
	return stop
}

// loseBins puts a bin below zero onto a shelf again and again. stop ends that, and returns how many bins there are.
func (tr *trial) loseBins() (stop func() (bins int)) {
	var isQuiet atomic.Bool
	var losing sync.WaitGroup
	bins := 0
	losing.Go(func() {
		for !isQuiet.Load() {
			bins++
			tr.put(shelves(tickScopes)[bins%tickScopes], fmt.Sprintf("B-%d", bins))
			pause(150 * time.Millisecond)
		}
	})
	stop = func() int {
		isQuiet.Store(true)
		losing.Wait()
		return bins
	}
	tr.t.Cleanup(func() { stop() })
	return stop
}

// finish reports that an item is done. It repeats the report until a node answers or the test ends.
func (n *node) finish(one wire.LeasedForm, isOver *atomic.Bool) {
	for !isOver.Load() {
		var answer wire.ResultForm
		code := n.call(http.MethodPost, "/queues/"+workQueue+"/items/"+one.ID+"/ack", fmt.Sprintf(`{"attempt":%d}`, one.Attempt), &answer)
		if code != 0 && code < http.StatusInternalServerError {
			return
		}
		pause(50 * time.Millisecond)
	}
}

// A PostgreSQL is killed whose standby is behind. The ledger goes back in time. For clients, queues and operators that
// is like the restore of a backup while nodes run.
func TestPostgresFailsOverToAStandbyThatLags(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	primary := testenv.PostgresServer(t)
	primary.Shell("createdb tallyman")
	standby := primary.Standby(false)
	s := newRestoreSite(t, testenv.HostsURL("tallyman", primary, standby), 2)
	s.onServer(standby)
	s.goesOn = true
	l := s.openLedger()
	awaitSent := func(webhooks int64) {
		testenv.Eventually(t, func() bool {
			counts, err := l.CountDeliveries(t.Context())
			return err == nil && counts["gateway"][ledger.DeliverySent] == webhooks
		}, 30*time.Second)
	}
	s.survives(func() {
		awaitSent(5 * 3)
		standby.HoldBack()
	}, func() {
		awaitSent(5 * (3 + 4)) // so that it is known what comes again
		primary.Kill()
		s.does("### Promote the standby")
	})
}
