package e2e

import (
	"testing"
	"time"

	"tallyman/internal/testenv"
)

// The node that writes a lost index back dies over it: another begins anew soon, and clients have everything again.
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

// killWriter empties Redis and kills the node that begins to write it back, while that waits for the ledger.
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
		writer = state.Node
		return err == nil && state.Building
	}, 10*time.Second)
	nodes[writer].kill()
	delete(nodes, writer)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}
