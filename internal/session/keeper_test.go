package session_test

import (
	"slices"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/session"
)

// A session that is renewed stays in force, and its contexts live.
func TestASessionIsRenewed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(c *cluster) {
		n := c.start("a")
		id, lapsed := n.Hold()
		_, ended := n.Own()
		if delivery.NodeName(id) != "a" || !n.Holds(id) {
			c.Fatalf("it holds %q", id)
		}
		wait(time.Hour)
		again, _ := n.Hold()
		if again != id || isClosed(lapsed) || isClosed(ended) || !slices.Equal(c.sessions(), []string{"a"}) {
			c.Errorf("after an hour: %q, %v, %v, %v", again, isClosed(lapsed), isClosed(ended), c.sessions())
		}
		if n.count(session.Lapsed)+n.count(session.Lost) != 0 {
			c.Error("it was lost, or not renewed in time")
		}
	})
}

// A node that cannot reach the ledger stops before another may bury it, and has another session as soon as the ledger answers. What the ledger fences goes on until then.
func TestACutNodeStopsBeforeItIsBuried(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*way){
		"the ledger refuses":         func(w *way) { w.set(errAway, false) },
		"the ledger does not answer": func(w *way) { w.set(nil, true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(c *cluster) {
				a, b := c.start("a"), c.start("b")
				wait(time.Minute)
				id, lapsed := a.Hold()
				_, ended := a.Own()
				cut := time.Now()
				fault(a.way)
				<-lapsed
				stopped := time.Since(cut)
				for len(c.sessions()) == 2 {
					wait(time.Millisecond)
				}
				buried := time.Since(cut)
				c.Logf("stopped after %s, buried after %s", stopped, buried)
				if stopped > lease-lease/8 || stopped < lease/2 || buried <= stopped || buried > lease+lease/8+time.Millisecond {
					c.Error("not as promised")
				}
				if a.Holds(id) || isClosed(ended) || a.count(session.Lapsed) != 1 || b.count(session.Buried) != 1 || b.changed.Load() != 1 {
					c.Errorf("holds %v, %v; %d, %d, %d", a.Holds(id), isClosed(ended), a.count(session.Lapsed), b.count(session.Buried), b.changed.Load())
				}
				if none, over := a.Hold(); none != "" || !isClosed(over) {
					c.Errorf("it holds %q", none)
				}
				a.way.set(nil, false)
				wait(lease / 2)
				next, _ := a.Hold()
				if next == "" || next == id || !isClosed(ended) || a.count(session.Lost) != 1 || !slices.Equal(c.sessions(), []string{"a", "b"}) {
					c.Errorf("%q after %q, %v, %v", next, id, isClosed(ended), c.sessions())
				}
			})
		})
	}
}

// After an outage of the ledger that all nodes have met, nobody is buried: everybody goes on under the session that was.
func TestAnOutageOfTheLedgerBuriesNobody(t *testing.T) {
	t.Parallel()
	inBubble(t, func(c *cluster) {
		nodes := []*node{c.start("a"), c.start("b"), c.start("c")}
		wait(time.Minute)
		var ids []string
		for _, n := range nodes {
			id, _ := n.Hold()
			ids = append(ids, id)
			n.way.set(errAway, false)
		}
		wait(time.Hour)
		for i, n := range nodes {
			n.way.set(nil, false)
			wait(time.Duration(i) * lease / 4) // one after the other, within a lease
		}
		wait(time.Minute)
		for i, n := range nodes {
			if id, _ := n.Hold(); id != ids[i] || n.count(session.Lost) != 0 || n.count(session.Lapsed) != 1 || n.changed.Load() != 1 {
				c.Errorf("%q after %q: lost %d, lapsed %d, changed %d", id, ids[i], n.count(session.Lost), n.count(session.Lapsed), n.changed.Load())
			}
		}
	})
}

// Machines that stood still together, such as virtual machines of a paused host, do not bury each other when they
// resume one after the other.
func TestMachinesThatStoodStillTogether(t *testing.T) {
	t.Parallel()
	inBubble(t, func(c *cluster) {
		a, b := c.start("a"), c.start("b")
		wait(time.Minute)
		id, _ := b.Hold()
		wakeA, wakeB := a.way.stand(), b.way.stand()
		wait(time.Minute)
		wakeA()
		wait(lease / 2)
		wakeB()
		wait(time.Minute)
		if !b.Holds(id) || a.count(session.Buried) != 0 {
			c.Errorf("holds %v, buried %d", b.Holds(id), a.count(session.Buried))
		}
	})
}

// A clock of the ledger that is set ahead ends all leases at once. No node buries another for it.
func TestALedgersClockThatGoesAheadBuriesNobody(t *testing.T) {
	t.Parallel()
	inBubble(t, func(c *cluster) {
		a, b := c.start("a"), c.start("b")
		for _, by := range []time.Duration{lease - time.Second, lease, time.Minute, 24 * time.Hour, -time.Minute, time.Minute} {
			wait(time.Minute + lease/16)
			c.jump(by)
		}
		wait(time.Minute)
		if a.count(session.Buried)+b.count(session.Buried) != 0 {
			c.Error("a node was buried")
		}
	})
}

// A node that stops is gone at once, and the others hear of it by their next look.
func TestANodeThatStopsIsGoneAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(c *cluster) {
		a, b := c.start("a"), c.start("b")
		wait(time.Minute)
		id, lapsed := a.Hold()
		a.stop()
		if a.Holds(id) || !isClosed(lapsed) || !slices.Equal(c.sessions(), []string{"b"}) {
			c.Errorf("%v, %v, %v", a.Holds(id), isClosed(lapsed), c.sessions())
		}
		wait(lease / 8)
		if b.changed.Load() != 1 || b.count(session.Buried) != 0 {
			c.Errorf("changed %d, buried %d", b.changed.Load(), b.count(session.Buried))
		}
	})
}

// Two processes of one name have different sessions. One of them dies, and the other goes on.
func TestTwoProcessesOfOneName(t *testing.T) {
	t.Parallel()
	inBubble(t, func(c *cluster) {
		a, b := c.start("a"), c.start("a")
		first, _ := a.Hold()
		second, _ := b.Hold()
		if first == second {
			c.Fatalf("both hold %q", first)
		}
		wait(time.Minute)
		a.way.set(errAway, false)
		wait(lease + lease/8)
		if !b.Holds(second) || !slices.Equal(c.sessions(), []string{"a"}) || b.count(session.Buried) != 1 {
			c.Errorf("%v, %v", b.Holds(second), c.sessions())
		}
	})
}

// The one node of a file takes over at its start, whatever the leases of others say, and stays in force while the file cannot be written.
func TestANodeThatIsAlone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(c *cluster) {
		dead := c.start("dead")
		dead.way.set(errAway, false)
		alone := func(o *session.Options) { o.Alone = true }
		n := c.start("a", alone)
		if !slices.Equal(c.sessions(), []string{"a"}) {
			c.Errorf("there are %v", c.sessions())
		}
		id, lapsed := n.Hold()
		n.way.set(errAway, false)
		wait(time.Hour)
		if !n.Holds(id) || isClosed(lapsed) {
			c.Error("it is not in force")
		}
	})
}

// A claim in the name of a session just after its burial is free soon afterwards.
func TestALateClaimIsFreedAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(c *cluster) {
		a := c.start("a")
		c.start("b")
		wait(time.Minute)
		id, _ := a.Hold()
		a.way.set(errAway, false)
		for len(c.sessions()) == 2 {
			wait(time.Millisecond)
		}
		lane := delivery.Lane{Sink: "inbox", Warehouse: "119240"}
		if held, err := c.ledger.AcquireLane(c.Context(), lane, id, time.Minute); err != nil || !held {
			c.Fatalf("%v, %v", held, err)
		}
		wait(lease / 2)
		if held, err := c.ledger.AcquireLane(c.Context(), lane, "b/1", time.Minute); err != nil || !held {
			c.Errorf("the lane is not free: %v, %v", held, err)
		}
	})
}
