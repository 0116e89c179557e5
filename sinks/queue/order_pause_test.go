package queue

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		n, other := newNode(t, t.addr, ledger), newNode(t, t.addr, ledger)
		n.mustPush(t, newItems(3, 3, "a")...)
		lease := n.mustLease(t, "w", 1)[0]
		if err := n.Pause(t.Context(), false, "op", anOrder); err != nil {
			t.Fatal(err)
		}
		// Leases go on during a pause, and pushes are accepted.
		out := other.mustStep(t, item.Step{Caller: item.Caller{Worker: "w"}, Max: 10, Ops: []item.Op{{Kind: item.Ack, ID: "a1", Attempt: lease.Attempt}}})
		if len(out.Items) > 0 || out.Results[0].Outcome != item.OK {
			t.Errorf("%+v", out)
		}
		other.mustPush(t, newItems(1, 3, "b")...)
		if p, err := ledger.QueuePause(t.Context(), queueName); err != nil || !p.Paused || p.By != "op" {
			t.Errorf("the ledger has %+v, %v", p, err)
		}
		// The twin is another queue.
		if _, err := n.Push(t.Context(), true, "tester", newItems(1, 3, "t")); err != nil {
			t.Fatal(err)
		}
		if got := n.mustStep(t, item.Step{Test: true, Caller: item.Caller{Worker: "w"}, Max: 1}).Items; len(got) != 1 {
			t.Errorf("the twin gave out %v", idsOf(got))
		}
		if err := other.Resume(t.Context(), false, "op2", anOrder); err != nil {
			t.Fatal(err)
		}
		if got := n.mustLease(t, "w", 10); len(got) != 3 {
			t.Errorf("%v", idsOf(got))
		}
		if s, err := n.Sizes(t.Context(), false, nil); err != nil || s.Pause.Paused || s.Pause.By != "op2" {
			t.Errorf("%+v, %v", s.Pause, err)
		}
	})
}

func TestAPauseOutlivesRedis(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	n := newNode(t, r.Addr, newMemoryLedger())
	n.mustPush(t, newItems(1, 3, "a")...)
	if err := n.Pause(t.Context(), false, "op", anOrder); err != nil {
		t.Fatal(err)
	}
	before, err := n.Sizes(t.Context(), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Restart()
	testenv.Eventually(t, func() bool {
		s, err := n.Sizes(t.Context(), false, nil)
		return err == nil && s.Ready == 1
	}, 20*time.Second)
	after, err := n.Sizes(t.Context(), false, nil)
	if p := after.Pause; err != nil || !p.Paused || p.By != "op" || !p.At.Equal(before.Pause.At) {
		t.Errorf("%+v, %v; before %+v", p, err, before.Pause)
	}
	if got := n.mustLease(t, "w", 1); len(got) > 0 {
		t.Errorf("it gave out %v", idsOf(got))
	}
}

// Whichever change is last, the ledger and Redis agree in the end.
func TestPauseAndResumeAtOnce(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	addr := testenv.Redis(t).Addr
	two := []*node{newNode(t, addr, ledger), newNode(t, addr, ledger)}
	for round := range 100 {
		var wg sync.WaitGroup
		for i, n := range two {
			wg.Go(func() {
				change := n.Pause
				if i == round%2 {
					change = n.Resume
				}
				if err := change(t.Context(), false, n.o.Node, anOrder); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s, err := two[0].Sizes(t.Context(), false, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p, _ := ledger.QueuePause(t.Context(), queueName); p.Paused != s.Pause.Paused || p.By != s.Pause.By {
			t.Fatalf("round %d: the ledger has %+v, Redis %+v", round, p, s.Pause)
		}
	}
}

// lateLedger is paused right after it was asked whether it is, if Redis takes that in the epoch that is about to end.
type lateLedger struct {
	*memoryLedger

	redis *redis.Client
	meta  string
	old   atomic.Value // the epoch
	asked atomic.Bool  // in the end of that
}

func (l *lateLedger) QueuePause(ctx context.Context, queue string) (item.Pause, error) {
	p, err := l.memoryLedger.QueuePause(ctx, queue)
	if old := l.old.Load(); old != nil && queue == queueName && l.asked.CompareAndSwap(false, true) {
		if found, _ := l.redis.HGet(ctx, l.meta, "epoch").Result(); found == old {
			err = l.SetQueuePause(ctx, anOrder, queue, item.Pause{Paused: true, By: "tester", At: time.Now()})
		}
	}
	return p, err
}

// A pause that reaches an epoch at its very end counts in the next epoch.
func TestAPauseAtTheEndOfAnEpochIsKept(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	ledger := &lateLedger{memoryLedger: newMemoryLedger(), redis: r.Client(t)}
	n := newNodeThat(t, keep, r.Addr, ledger)
	g, _ := n.keeper.Current()
	ledger.meta = n.lines[0].keys.meta()
	ledger.old.Store(g.Epoch)
	if err := n.client.HSet(t.Context(), n.lines[0].keys.epoch(), "epoch", "lost").Err(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() bool { return !n.keeper.Is(g) && n.Ready() == nil }, 60*time.Second)
	s, err := n.Sizes(t.Context(), false, nil)
	want, _ := ledger.QueuePause(t.Context(), queueName)
	if err != nil || !ledger.asked.Load() || s.Pause.Paused != want.Paused {
		t.Errorf("Redis has %+v, the ledger %+v, %v", s.Pause, want, err)
	}
}
