package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

const nodes = 4

var raceTests = []testCase{
	{"of many nodes one gets the firing", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		const firings = 15
		var mu sync.Mutex
		done := map[int]int{}
		f.onNodes(t, func(ctx context.Context, l ledger.Ledger, node string) error {
			for n := 1; n <= firings; n++ {
				c, err := l.Claim(ctx, rule, scope, 0, due(n), node, lease)
				if errors.Is(err, ledger.ErrDone) {
					continue
				}
				if errors.Is(err, ledger.ErrBusy) {
					n--
					continue
				}
				if err != nil {
					return err
				}
				run := commitOf(c)
				run.Notices = to([]ledger.Target{inbox}, newNotice(fmt.Sprintf("n_%02d", n)))
				if _, err := l.Commit(ctx, c, run); err != nil {
					return err
				}
				mu.Lock()
				done[n]++
				mu.Unlock()
			}
			return nil
		})
		equal(t, firings, len(done))
		for n, times := range done {
			if times != 1 {
				t.Fatalf("firing %d was made %d times", n, times)
			}
		}
		equal(t, firings, len(f.pending(t, inboxLane)))
	}},
	{"a reader up to a number misses nothing that is committed later", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		const commits = 12
		stop := make(chan struct{})
		var seen []int64
		var reading sync.WaitGroup
		reading.Go(func() { seen = f.follow(t, stop) })
		f.onNodes(t, func(ctx context.Context, l ledger.Ledger, node string) error {
			if _, err := l.Register(ctx, node, scope, 0, start); err != nil {
				return err
			}
			for n := 1; n <= commits; n++ {
				c, err := l.Claim(ctx, node, scope, 0, due(n), node, lease)
				if err != nil {
					return err
				}
				run := commitOf(c)
				run.Notices = to([]ledger.Target{{Sink: "gateway"}, inbox}, numbered(fmt.Sprintf("n_%s_%02d_", node, n), 5)...)
				if _, err := l.Commit(ctx, c, run); err != nil {
					return err
				}
			}
			return nil
		})
		close(stop)
		reading.Wait()
		equal(t, commits*nodes*5, len(seen))
		if !slices.IsSorted(seen) {
			t.Fatal("a lower number was committed after a higher one")
		}
	}},
	{"a commit that races with the loss of its claim counts once", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		const rounds = 10
		b := f.other(t)
		for n := 1; n <= rounds; n++ {
			c, err := f.Claim(t.Context(), rule, scope, 0, due(n), "a", 0) // the lease ends at once
			noError(t, err)
			var wg sync.WaitGroup
			var first, second error
			wg.Go(func() {
				run := commitOf(c)
				run.Findings = insert(fmt.Sprint(n))
				_, first = f.Commit(t.Context(), c, run)
			})
			wg.Go(func() {
				var again ledger.Claim
				if again, second = b.Claim(t.Context(), rule, scope, 0, due(n), "b", lease); second == nil {
					run := commitOf(again)
					run.Findings = insert(fmt.Sprint(n))
					_, second = b.Commit(t.Context(), again, run)
				}
			})
			wg.Wait()
			switch {
			case first == nil && errors.Is(second, ledger.ErrDone):
			case errors.Is(first, ledger.ErrFenced) && second == nil:
			default:
				t.Fatalf("round %d: %v and %v", n, first, second)
			}
		}
		list, err := f.Findings(t.Context(), rule, scope)
		noError(t, err)
		equal(t, rounds, len(list))
	}},
	{"a new epoch and late receipts leave each delivery recorded or pending", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, numbered("n_", 200)...))
		list := f.pending(t, inboxLane)
		noError(t, f.BeginEpoch(t.Context(), inboxSink, "", ledger.IndexState{Epoch: "e1"}, "a", 0))
		b := f.other(t)
		var recorded int
		var wg sync.WaitGroup
		wg.Go(func() {
			for i, d := range list {
				err := f.MarkSent(t.Context(), "", []delivery.Receipt{{Seq: d.Seq, Score: int64(i + 1), Epoch: "e1"}}, delivery.Attempt{})
				if err != nil && !errors.Is(err, ledger.ErrFenced) {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			if err := b.BeginEpoch(t.Context(), inboxSink, "e1", ledger.IndexState{Epoch: "e2"}, "b", lease); err != nil {
				t.Error(err)
				return
			}
			page, err := b.Delivered(t.Context(), inboxLane, 0, 1000) // what a rebuild sees
			if err != nil {
				t.Error(err)
			}
			recorded = len(page)
		})
		wg.Wait()
		equal(t, len(list)-recorded, len(f.pending(t, inboxLane)))
	}},
	{"one node drains a lane", func(t *testing.T, f *fixture) {
		var mu sync.Mutex
		held := 0
		f.onNodes(t, func(ctx context.Context, l ledger.Ledger, node string) error {
			got, err := l.AcquireLane(ctx, inboxLane, node, lease)
			if got {
				mu.Lock()
				held++
				mu.Unlock()
			}
			return err
		})
		equal(t, 1, held)
	}},
}

// onNodes runs do on several nodes at the same time.
func (f *base) onNodes(t testing.TB, do func(ctx context.Context, l ledger.Ledger, node string) error) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range nodes {
		l := f.other(t)
		wg.Go(func() {
			if err := do(t.Context(), l, fmt.Sprintf("node%d", i)); err != nil {
				t.Errorf("node %d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

// follow reads the pending deliveries of the inbox's lane, marks them as sent, and returns their numbers in the order
// in which it saw them. follow ends when stop is closed and nothing is pending.
func (f *base) follow(t testing.TB, stop <-chan struct{}) []int64 {
	t.Helper()
	var seen []int64
	for stopped := false; ; {
		select {
		case <-stop:
			stopped = true
		default:
		}
		list, err := f.Pending(t.Context(), inboxLane, 1000)
		if err != nil {
			t.Error(err)
			return seen
		}
		if len(list) == 0 && stopped {
			return seen
		}
		seen = append(seen, seqs(list)...)
		receipts := make([]delivery.Receipt, len(list))
		for i, d := range list {
			receipts[i] = delivery.Receipt{Seq: d.Seq}
		}
		if err := f.MarkSent(t.Context(), "", receipts, delivery.Attempt{}); err != nil {
			t.Error(err)
			return seen
		}
	}
}
