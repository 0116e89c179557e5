package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// soon is much longer than a hint takes and much shorter than lookEvery, where races are looked for too.
const soon = 2 * time.Second

// stepped is a step that has come to its end.
type stepped struct {
	item.Stepped

	worker string
	err    error
	took   time.Duration
}

// waiting starts a step of a worker that waits for items, and returns where its result comes. It waits when waiting
// returns.
func waiting(ctx context.Context, t testing.TB, n *node, s item.Step) <-chan stepped {
	t.Helper()
	s.Max = max(s.Max, 1)
	if s.Wait == 0 {
		s.Wait = MaxWait
	}
	l := n.line(s.Test)
	before := l.waiters.count()
	done := make(chan stepped, 1)
	began := time.Now()
	go func() {
		out, err := n.Step(ctx, s)
		done <- stepped{out, s.Worker, err, time.Since(began)}
	}()
	testenv.Eventually(t, func() bool { return l.waiters.count() > before }, 60*time.Second)
	return done
}

func wantItem(t *testing.T, got stepped, id string) {
	t.Helper()
	if got.err != nil || len(got.Items) != 1 || id != "" && got.Items[0].ID != id {
		t.Fatalf("%s got %v, %v; want %s", got.worker, idsOf(got.Items), got.err, id)
	}
}

func TestOneWhoWaitsIsWokenByThePush(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		worker, producer := newNode(t, t.addr, ledger), newNode(t, t.addr, ledger)
		for _, test := range []bool{false, true} {
			done := waiting(t.Context(), t, worker, item.Step{Caller: item.Caller{Worker: "w"}, Test: test})
			began := time.Now()
			if _, err := producer.Push(t.Context(), test, "tester", newItems(1, 3, "a")); err != nil {
				t.Fatal(err)
			}
			wantItem(t.T, <-done, "a1")
			if took := time.Since(began); took > soon {
				t.Errorf("it took %s: that was not the hint", took)
			}
			if worker.line(test).waiters.count() != 0 {
				t.Error("somebody still waits")
			}
		}
	})
}

// A lost hint costs seconds, not the item.
func TestALostHintCostsSeconds(t *testing.T) {
	t.Parallel()
	deaf := func(q *Queue, ctx context.Context) { q.keeper.Run(ctx) }
	n := newNodeThat(t, deaf, testenv.Redis(t).Addr, nil)
	done := waiting(t.Context(), t, n, item.Step{Caller: item.Caller{Worker: "w"}})
	n.mustPush(t, newItems(1, 3, "a")...)
	got := <-done
	wantItem(t, got, "a1")
	if got.took > lookEvery+soon {
		t.Errorf("it took %s", got.took)
	}
}

// Hints that are published while the connection is broken are lost. So a new subscription makes the waiting calls ask.
func TestABrokenSubscriptionCostsNothing(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	proxy := testenv.NewProxy(t, r.Addr)
	worker, producer := newNode(t, proxy.Addr, nil), newNode(t, r.Addr, nil)
	done := waiting(t.Context(), t, worker, item.Step{Caller: item.Caller{Worker: "w"}})
	proxy.Cut()
	producer.mustPush(t, newItems(1, 3, "a")...)
	began := time.Now()
	proxy.Point(r.Addr)
	wantItem(t, <-done, "a1")
	if took := time.Since(began); took > lookEvery-soon/2 {
		t.Errorf("it took %s", took)
	}
}

func TestOneItemWakesOneOfMany(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	n, producer := newNode(t, r.Addr, nil), newNode(t, r.Addr, nil)
	const many = 64
	calls := make([]<-chan stepped, many)
	ctx, cancel := context.WithCancel(t.Context())
	for i := range calls {
		calls[i] = waiting(ctx, t, n, item.Step{Caller: item.Caller{Worker: fmt.Sprintf("w%d", i)}})
	}
	testenv.Eventually(t, func() bool { return len(n.line(false).waiters.wokenNow()) == 0 }, soon)
	before := scriptCalls(t, r)
	producer.mustPush(t, newItems(1, 3, "a")...)
	l := n.line(false)
	testenv.Eventually(t, func() bool { return l.waiters.count() == many-1 }, soon)
	cancel()
	got := 0
	for _, done := range calls {
		s := <-done
		got += len(s.Items)
		if len(s.Items) == 0 && !errors.Is(s.err, context.Canceled) {
			t.Errorf("%s: %v", s.worker, s.err)
		}
	}
	if got != 1 {
		t.Errorf("%d got an item", got)
	}
	// The push, the one that was woken, and perhaps some whose turn to look has come.
	if calls := scriptCalls(t, r) - before; calls > many/4 {
		t.Errorf("one item had scripts called %d times", calls)
	}
}

// scriptCalls is how many scripts the server has run.
func scriptCalls(t testing.TB, r *testenv.RedisServer) int {
	t.Helper()
	info, err := r.Client(t).Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(info) {
		var n int
		if _, err := fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,", &n); err == nil {
			return n
		}
	}
	return 0
}

func TestManyItemsWakeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, nil)
		const many = 32
		calls := make([]<-chan stepped, many)
		for i := range calls {
			calls[i] = waiting(t.Context(), t, n, item.Step{Caller: item.Caller{Worker: fmt.Sprintf("w%d", i)}})
		}
		began := time.Now()
		n.mustPush(t, newItems(many, 3, "a")...) // one hint: the level was empty before the first
		for _, done := range calls {
			wantItem(t.T, <-done, "")
		}
		if took := time.Since(began); took > soon {
			t.Errorf("it took %s", took)
		}
	})
}

func TestWhatBecomesDueWakes(t *testing.T) {
	t.Parallel()
	const delay = 700 * time.Millisecond
	for name, prepare := range map[string]func(t *testing.T, n *node){
		"pushed with a delay": func(t *testing.T, n *node) {
			t.Helper()
			n.mustPush(t, item.New{ID: "a1", Priority: 3, Payload: []byte("1"), Delay: delay})
		},
		"a lease that runs out": func(t *testing.T, n *node) {
			t.Helper()
			n.mustPush(t, newItems(1, 3, "a")...)
			n.mustStep(t, item.Step{Caller: item.Caller{Worker: "gone"}, Max: 1, Lease: delay})
		},
		"put back with a delay": func(t *testing.T, n *node) {
			t.Helper()
			n.mustPush(t, newItems(1, 3, "a")...)
			lease := n.mustLease(t, "other", 1)[0]
			n.mustDo(t, item.Op{Kind: item.Nack, ID: lease.ID, Attempt: lease.Attempt, Delay: delay}, item.OK)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, testenv.Redis(t).Addr, nil)
			began := time.Now()
			prepare(t, n)
			wantItem(t, <-waiting(t.Context(), t, n, item.Step{Caller: item.Caller{Worker: "w"}}), "a1")
			if took := time.Since(began); took < delay || took > delay+soon {
				t.Errorf("after %s, due after %s", took, delay)
			}
		})
	}
	t.Run("pushed with a delay while somebody waits", func(t *testing.T) {
		t.Parallel()
		n := newNode(t, testenv.Redis(t).Addr, nil)
		done := waiting(t.Context(), t, n, item.Step{Caller: item.Caller{Worker: "w"}})
		began := time.Now()
		n.mustPush(t, item.New{ID: "a1", Priority: 3, Payload: []byte("1"), Delay: delay})
		wantItem(t, <-done, "a1")
		if took := time.Since(began); took < delay || took > delay+soon {
			t.Errorf("after %s, due after %s", took, delay)
		}
	})
}

func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, nil)
		n.mustPush(t, newItems(1, 3, "a")...)
		lease := n.mustLease(t, "w", 1)[0]
		const wait = 300 * time.Millisecond
		began := time.Now()
		out := n.mustStep(t, item.Step{Caller: item.Caller{Worker: "w"}, Max: 1, Wait: wait, Ops: []item.Op{{Kind: item.Ack, ID: "a1", Attempt: lease.Attempt}}})
		if took := time.Since(began); len(out.Items) > 0 || took < wait || took > wait+soon {
			t.Errorf("%v after %s", idsOf(out.Items), took)
		}
		if len(out.Results) != 1 || out.Results[0].Outcome != item.OK {
			t.Errorf("the ack was answered %+v", out.Results)
		}

		ctx, cancel := context.WithCancel(t.Context())
		stale := item.Op{Kind: item.Ack, ID: "a1", Attempt: lease.Attempt}
		done := waiting(ctx, t, n, item.Step{Caller: item.Caller{Worker: "w"}, Ops: []item.Op{stale}})
		cancel()
		if got := <-done; !errors.Is(got.err, context.Canceled) || got.took > soon {
			t.Errorf("%v after %s", got.err, got.took)
		}
	})
}

func TestWhoWaitsGetsWhatIsAssignedToIt(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, nil)
		n.mustPush(t, newItems(1, 3, "a")...)
		lease := n.mustLease(t, "c", 1)[0]
		ctx, cancel := context.WithCancel(t.Context())
		first := waiting(ctx, t, n, item.Step{Caller: item.Caller{Worker: "a"}})
		second := waiting(ctx, t, n, item.Step{Caller: item.Caller{Worker: "b"}})
		began := time.Now()
		n.mustStep(t, item.Step{Caller: item.Caller{Worker: "c"}, Ops: []item.Op{{Kind: item.Store, ID: "a1", Attempt: lease.Attempt, Delay: soon / 4}}})
		n.mustDo(t, item.Op{Kind: item.Assign, ID: "a1", Worker: "b"}, item.OK)
		wantItem(t.T, <-second, "a1")
		if took := time.Since(began); took > soon+soon/4 {
			t.Errorf("it took %s", took)
		}
		cancel()
		if got := <-first; len(got.Items) > 0 {
			t.Errorf("the other got %v", idsOf(got.Items))
		}
	})
}

func TestOnResumeThoseWhoWaitGoOn(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		n, other := newNode(t, t.addr, ledger), newNode(t, t.addr, ledger)
		if err := n.Pause(t.Context(), false, "op", anOrder); err != nil {
			t.Fatal(err)
		}
		done := waiting(t.Context(), t, n, item.Step{Caller: item.Caller{Worker: "w"}})
		n.mustPush(t, newItems(2, 3, "a")...)
		if got := n.mustLease(t, "x", 2); len(got) > 0 {
			t.Fatalf("a paused queue gave out %v", idsOf(got))
		}
		if n.line(false).waiters.count() != 1 {
			t.Fatal("it does not wait any more")
		}
		began := time.Now()
		if err := other.Resume(t.Context(), false, "op", anOrder); err != nil {
			t.Fatal(err)
		}
		wantItem(t.T, <-done, "a1")
		if took := time.Since(began); took > soon {
			t.Errorf("it took %s", took)
		}
	})
}

// A call that waited and whose reply got lost is repeated by its request id: it gets the same items.
func TestAWaitIsRepeatedByItsRequest(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, nil)
		n.mustPush(t, newItems(1, 3, "a")...)
		lease := n.mustLease(t, "w", 1)[0]
		s := item.Step{
			Caller: item.Caller{Worker: "w"}, Max: 2, Wait: MaxWait, RequestID: "r1",
			Ops: []item.Op{{Kind: item.Ack, ID: "a1", Attempt: lease.Attempt}, {Kind: item.Ack, ID: "none", Attempt: 1}},
		}
		done := waiting(t.Context(), t, n, s)
		n.mustPush(t, newItems(5, 3, "b")...)
		got := <-done
		if got.err != nil || strings.Join(idsOf(got.Items), " ") != "b1 b2" {
			t.Fatalf("%v, %v", idsOf(got.Items), got.err)
		}
		again := n.mustStep(t, s)
		if strings.Join(idsOf(again.Items), " ") != "b1 b2" || again.Items[0].Attempt != got.Items[0].Attempt {
			t.Errorf("repeated it got %v", idsOf(again.Items))
		}
		for i, want := range []item.Outcome{item.OK, item.LeaseLost} {
			if got.Results[i].Outcome != want || again.Results[i].Outcome != want {
				t.Errorf("operation %d: %s, repeated %s, want %s", i, got.Results[i].Outcome, again.Results[i].Outcome, want)
			}
		}
	})
}

func TestWhoWaitsOutlivesALossOfRedis(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	n := newNode(t, r.Addr, newMemoryLedger())
	done := waiting(t.Context(), t, n, item.Step{Caller: item.Caller{Worker: "w"}})
	if err := r.Client(t).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	n.mustPush(t, newItems(1, 3, "a")...)
	wantItem(t, <-done, "a1")
}
