package e2e

import (
	"testing"
	"time"

	"tallyman/internal/testenv"
)

// Nodes that are stopped and started again one after the other, as for a new version, leave no firing out and run none twice, since others
// are there: whether a rule makes good what was missed or not. Clients that poll, or follow a stream, go on at other nodes.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	c := newCluster(t, longLease, worldRules+tickRules(tickScopes, "{sink: inbox}"))
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
	tr.verifyTicks(tr.ledger, nodesOfThree, began)
	excused := tr.firings(tr.ledger, everyRule).standstill()
	tr.firings(tr.ledger, stateRule).gapless(excused)
	tr.firings(tr.ledger, eventRule).gapless(excused)
	for _, cl := range tr.clients {
		if cl.refused == 0 {
			t.Errorf("a client of %s noticed nothing: the test does not test", cl.warehouse)
		}
	}
}
