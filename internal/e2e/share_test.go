package e2e

import (
	"fmt"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

const (
	nodesOfThree = 3
	tickScopes   = 4
)

// Three nodes share what there is to do: each firing is run once, by one of them, and what it finds reaches inbox, queue and
// webhook once.
func TestThreeNodesShareTheFirings(t *testing.T) {
	t.Parallel()
	c := newCluster(t, longLease, "version: 1\ndefaults: {source: wms}\nrules:\n"+tickRules(tickScopes, "{sink: inbox}, {sink: replenishment}, {sink: gateway}"))
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
	told := 2 * bins // by each of the rules
	items := nodes[0].awaitItems(item.Ready, told)
	testenv.Eventually(t, func() bool {
		counts, err := l.CountDeliveries(t.Context())
		return err == nil && counts[sink][ledger.DeliverySent] == int64(told) && counts["gateway"][ledger.DeliverySent] == int64(told)
	}, 30*time.Second)
	for _, n := range nodes {
		n.stop()
	}

	c.verifyTicks(l, nodesOfThree, began)
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
