package e2e

import (
	"syscall"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/internal/testenv"
)

// A node that freezes, as a machine does that is moved or swaps, finds that another has taken over when it thaws. What it
// still does then changes nothing, and it goes on as if nothing had been.
func TestFrozenNode(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	other := tr.start(1)
	for _, step := range []string{engine.StepScanned, engine.StepCommitting, engine.StepDelivering, engine.StepDelivered} {
		n := tr.start(0, childFreezes+"="+step)
		n.freezes()
		pause(3 * killLease / 2)
		n.signal(syscall.SIGCONT)
		pause(killLease / 2)
		n.stop()
	}
	tr.finish([]*node{other}, false)
}

// A node that freezes with a transaction open, between two statements, loses nothing and tells
// nothing twice, whether the ledger's server has given up on it or not by the time that it thaws.
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

// freezeInCommit stops the node that runs the state rule, in a transaction that has locked the rule and has more to do. It
// returns the due time of that run.
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
		// The claim need not be in force any more: nobody renews it during a commit, and nobody can take it while the rule is locked.
		err := look.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'firings'::regclass AND NOT granted),
			NOT EXISTS (SELECT FROM rule_scopes WHERE rule = $1 AND scope = $2 FOR NO KEY UPDATE SKIP LOCKED), running_node, coalesce(running_due, 0)
			FROM rule_scopes WHERE rule = $1 AND scope = $2`, stateRule, warehouses[0]).Scan(&waiting, &locked, &node, &due)
		return err == nil && waiting && locked && due > 0
	}, 30*time.Second)
	nodes[node].signal(syscall.SIGSTOP)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	return time.UnixMicro(due)
}
