package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

var steps = []string{
	engine.StepClaimed, engine.StepScanned, engine.StepJudged, engine.StepCommitting,
	engine.StepCommitted, engine.StepDelivering, engine.StepDelivered, engine.StepMarked,
}

// killLease is the lease of nodes that are killed. Their work waits for so long.
const killLease = time.Second

// trial is a cluster with its world and its clients, for a test that kills nodes.
type trial struct {
	*cluster
	world   *world
	clients []*client
	ledger  ledger.Ledger
	end     func()
}

// newTrial makes a trial without nodes. The settings apply to the sessions of the ledger's database.
func newTrial(t *testing.T, settings ...string) *trial {
	t.Helper()
	return trialOf(newCluster(t, killLease, worldRules, settings...))
}

// trialOf makes a trial of a cluster without nodes.
func trialOf(c *cluster) *trial {
	c.t.Helper()
	tr := unseenTrial(c)
	tr.ledger = c.openLedger()
	return tr
}

// unseenTrial is trialOf without the ledger, whose schema may be older than that of this program. The caller opens the
// ledger before the trial ends.
func unseenTrial(c *cluster) *trial {
	c.t.Helper()
	tr := &trial{cluster: c, world: newWorld(c)}
	stopWorld := tr.world.live()
	polls, stopPolls := c.clients(warehouses...)
	streams, stopStreams := c.streams(warehouses...)
	tr.clients = slices.Concat(polls, streams)
	tr.end = func() {
		stopWorld()
		tr.world.settle(tr.ledger, tr.clients)
		stopPolls()
		stopStreams()
	}
	return tr
}

// finish lets everything settle, stops the live nodes, and compares the ledger, the clients and Redis.
func (tr *trial) finish(nodes []*node, redisLost bool) {
	tr.t.Helper()
	tr.end()
	for _, n := range nodes {
		n.stop()
	}
	tr.verify(tr.ledger, tr.clients, redisLost)
}

// pause waits for d, while the nodes and the world go on.
func pause(d time.Duration) { <-time.After(d) }

// A node dies in any step of a firing or a delivery, and is started again. Nothing is lost or doubled, with or without
// another node that takes over.
func TestKilledInEachStep(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for _, nodes := range []int{1, 2} {
		t.Run(fmt.Sprintf("of %d nodes", nodes), func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t)
			var others []*node
			for place := 1; place < nodes; place++ {
				others = append(others, tr.start(place))
			}
			for _, step := range steps {
				dies(t, func() *node { return tr.start(0, childDies+"="+step) })
			}
			tr.finish(append(others, tr.start(0)), false)
		})
	}
}

// kills is how many nodes are killed at any moment, one after the other. make soak goes on for its time.
const kills = 5

// Nodes that die at random moments lose and double nothing, even when Redis dies now and then.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for name, test := range map[string]struct {
		nodes     int
		redisDies bool
	}{
		"a node alone":              {nodes: 1},
		"two nodes":                 {nodes: 2},
		"two nodes and their Redis": {nodes: 2, redisDies: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t)
			var nodes []*node
			for place := range test.nodes {
				nodes = append(nodes, tr.start(place))
			}
			testenv.Eventually(t, func() bool { return tr.heard() > 0 }, 30*time.Second)
			random := rand.New(rand.NewPCG(uint64(test.nodes), 11))
			end := time.Now().Add(testenv.SoakFor(t, 0))
			for kill := 0; kill < kills || time.Now().Before(end); kill++ {
				pause(time.Duration(random.Int64N(int64(1500 * time.Millisecond))))
				place := random.IntN(test.nodes)
				nodes[place].kill()
				if test.redisDies && kill%4 == 1 {
					tr.redis.Restart()
				}
				pause(time.Duration(random.Int64N(int64(300 * time.Millisecond))))
				nodes[place] = tr.start(place)
			}
			tr.finish(nodes, test.redisDies)
			for _, cl := range tr.clients {
				if cl.refused == 0 || test.redisDies && cl.resets == 0 {
					t.Errorf("the client of %s noticed nothing: the test does not test", cl.warehouse)
				}
			}
		})
	}
}

// heard returns the number of notices of the client that has the fewest.
func (tr *trial) heard() int {
	least := -1
	for _, cl := range tr.clients {
		cl.mu.Lock()
		if least < 0 || len(cl.notices) < least {
			least = len(cl.notices)
		}
		cl.mu.Unlock()
	}
	return least
}

// A node dies while it restores a lost index. Another node begins again soon, and clients get everything again.
func TestKilledWhileItWritesTheIndexBack(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	tr := newTrial(t)
	nodes := map[string]*node{}
	for place := range 2 {
		n := tr.start(place)
		nodes[n.name] = n
	}
	testenv.Eventually(t, func() bool { return tr.heard() > 0 }, 30*time.Second)
	tr.killWriter(nodes)
	testenv.Eventually(t, func() bool {
		for _, cl := range tr.clients {
			cl.mu.Lock()
			resets := cl.resets
			cl.mu.Unlock()
			if resets == 0 {
				return false
			}
		}
		return true
	}, 15*time.Second)
	var left []*node
	for _, n := range nodes {
		left = append(left, n)
	}
	tr.finish(left, true)
}

// killWriter empties Redis, and kills the node that begins to restore it, while that node waits for the ledger.
func (tr *trial) killWriter(nodes map[string]*node) {
	t := tr.t
	t.Helper()
	tx, err := tr.connect().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE notices IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	if err := tr.redis.Client(t).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	var writer string
	testenv.Eventually(t, func() bool {
		state, err := tr.ledger.IndexState(t.Context(), sink)
		writer = delivery.NodeName(state.Node)
		return err == nil && state.Building
	}, 10*time.Second)
	nodes[writer].kill()
	delete(nodes, writer)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}
