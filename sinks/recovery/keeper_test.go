package recovery

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
)

func TestAnEmptyRedisIsWrittenBackOnceByTwoNodes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t site) {
		ledger := &epochs{}
		a, b := running(t, t.addr, with(ledger)), running(t, t.addr, with(ledger))
		first := a.serves(t)
		if g := b.serves(t); g.Epoch != first.Epoch || ledger.count() != 1 {
			t.Fatalf("epochs %s and %s, %d were begun", first.Epoch, g.Epoch, ledger.count())
		}
		_, changed := a.Current()
		t.flush()
		<-changed
		second := a.serves(t)
		testenv.Eventually(t, func() bool { return b.serves(t).Epoch == second.Epoch }, 10*time.Second)
		if EpochNumber(second.Epoch) <= EpochNumber(first.Epoch) || ledger.count() != 2 || a.Is(first) || !a.Is(second) {
			t.Errorf("epoch %s after %s, %d were begun", second.Epoch, first.Epoch, ledger.count())
		}
		if n := a.things.rebuilt.Load() + b.things.rebuilt.Load(); n != 2 {
			t.Errorf("%d rebuilds", n)
		}
	})
}

func TestWhatIsMissingIsWrittenBack(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t site) {
		ledger := &epochs{}
		n := running(t, t.addr, with(ledger))
		g := n.serves(t)
		if err := n.client.Del(t.Context(), thing).Err(); err != nil {
			t.Fatal(err)
		}
		n.Lose(g, errors.New("it looked odd")) // what is whole but for a thing is found out by Missing alone
		if next := n.serves(t); next.Epoch == g.Epoch || n.things.rebuilt.Load() != 2 {
			t.Errorf("epoch %s after %s, %d rebuilds", next.Epoch, g.Epoch, n.things.rebuilt.Load())
		}
		g = n.serves(t)
		n.Lose(g, errors.New("it looked odd again")) // nothing is missing: the epoch goes on
		if next := n.serves(t); next.Epoch != g.Epoch || n.things.rebuilt.Load() != 2 {
			t.Errorf("epoch %s after %s, %d rebuilds", next.Epoch, g.Epoch, n.things.rebuilt.Load())
		}
	})
}

func TestTheNextEpochIsAboveOneThatARebuildMet(t *testing.T) {
	t.Parallel()
	ledger := &epochs{}
	n := newNode(t, testenv.Redis(t).Addr, with(ledger))
	met := "41-abc"
	n.things.meets.Store(&met)
	if err := n.look(t.Context()); err == nil || !strings.Contains(err.Error(), met) {
		t.Fatalf("the first rebuild: %v", err)
	}
	if err := n.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g, _ := n.Current(); EpochNumber(g.Epoch) != 42 {
		t.Errorf("epoch %s", g.Epoch)
	}
}

func TestOneNodeBuildsAtATime(t *testing.T) {
	t.Parallel()
	ledger := &epochs{}
	n := newNode(t, testenv.Redis(t).Addr, with(ledger))
	ledger.set(delivery.IndexState{Epoch: "1-a", Building: true, Node: "another", Lease: time.Now().Add(time.Hour)})
	if err := n.look(t.Context()); !errors.Is(err, errBuilding) {
		t.Errorf("while another builds: %v", err)
	}
	ledger.set(delivery.IndexState{Epoch: "1-a", Building: true, Node: "another", Lease: time.Now().Add(-time.Second)})
	if err := n.look(t.Context()); err != nil { // the other died
		t.Error(err)
	}
	if g, _ := n.Current(); g == nil || EpochNumber(g.Epoch) != 2 {
		t.Errorf("%+v", g)
	}
}

// If a node starts while another node finishes the first epoch, it serves that epoch, too.
func TestAnEpochThatAnotherNodeFinishesMeanwhileIsServed(t *testing.T) {
	t.Parallel()
	ledger, addr := &epochs{}, testenv.Redis(t).Addr
	a, b := newNode(t, addr, with(ledger)), newNode(t, addr, with(ledger))
	ledger.before = func() {
		if err := a.look(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := b.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	g, _ := a.Current()
	if other, _ := b.Current(); other.Epoch != g.Epoch || ledger.count() != 1 {
		t.Errorf("epochs %s and %s, %d were begun", g.Epoch, other.Epoch, ledger.count())
	}
}

func TestARebuildEndsWhenTheRightIsLost(t *testing.T) {
	t.Parallel()
	ledger := &epochs{}
	n := newNode(t, testenv.Redis(t).Addr, with(ledger))
	n.things.build = func(ctx context.Context) error {
		ledger.set(delivery.IndexState{Epoch: "9-z", Building: true, Node: "another", Lease: time.Now().Add(time.Hour)})
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if err := n.look(t.Context()); !errors.Is(err, delivery.ErrFenced) {
		t.Errorf("%v", err)
	}
}

// A connection to another server ends the generation before anything is asked over it.
func TestAnotherServerIsNotTrusted(t *testing.T) {
	t.Parallel()
	first, second := testenv.Redis(t), testenv.Redis(t)
	proxy := testenv.NewProxy(t, first.Addr)
	n := newNode(t, proxy.Addr, with(&epochs{}))
	if err := n.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	g, _ := n.Current()
	proxy.Point(second.Addr)
	testenv.Eventually(t, func() bool { return n.client.Ping(t.Context()).Err() == nil }, 10*time.Second)
	if n.Is(g) {
		t.Error("what the second server holds is trusted")
	}
	if err := n.Ready(); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("Ready: %v", err)
	}
}

func TestRedisAloneKeepsItsEpoch(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t site) {
		n := running(t, t.addr)
		g := n.serves(t)
		if other := running(t, t.addr).serves(t); other.Epoch != g.Epoch {
			t.Errorf("epochs %s and %s", g.Epoch, other.Epoch)
		}
		_, changed := n.Current()
		t.flush()
		<-changed
		if next := n.serves(t); next.Epoch == g.Epoch {
			t.Errorf("epoch %s after all was lost", next.Epoch)
		}
	})
}

func TestAnEvictingServerIsRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t, testenv.Redis(t, "--maxmemory-policy", "allkeys-lru").Addr, with(&epochs{}))
	if err := n.Check(t.Context()); !errors.Is(err, ErrEvicts) {
		t.Errorf("Check: %v", err)
	}
	if err := n.look(t.Context()); !errors.Is(err, ErrEvicts) {
		t.Errorf("it would serve: %v", err)
	}
	if err := newNode(t, testenv.Miniredis(t).Addr(), with(&epochs{})).Check(t.Context()); err != nil {
		t.Errorf("the in-process Redis: %v", err)
	}
}

func TestALossThatNobodyNoticedIsConfirmedByNobody(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t site) {
		n := newNode(t, t.addr, with(&epochs{}))
		if err := n.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		g, _ := n.Current()
		if err := n.Confirm(t.Context(), g); err != nil || !n.Is(g) {
			t.Errorf("nothing was lost: %v", err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := n.Confirm(ended, g); err == nil || errors.Is(err, ErrLost) || !n.Is(g) {
			t.Errorf("without an answer: %v", err)
		}
		t.flush()
		if err := n.Confirm(t.Context(), g); !errors.Is(err, ErrLost) || n.Is(g) {
			t.Errorf("after a loss: %v", err)
		}
	})
	t.Run("another server", func(t *testing.T) {
		t.Parallel()
		n := newNode(t, testenv.Redis(t).Addr, with(&epochs{}))
		if err := n.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		g, _ := n.Current()
		g.runIDs = []string{"of the one before"}
		if err := n.Confirm(t.Context(), g); !errors.Is(err, ErrLost) || n.Is(g) {
			t.Errorf("%v", err)
		}
	})
}
