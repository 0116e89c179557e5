package queue

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// fill leaves something in every state. It returns the three that it leased; the first of them is dead.
func fill(t testing.TB, n *node) []item.Lease {
	t.Helper()
	n.mustPush(t, item.New{ID: "kept", Payload: []byte(`{"a":1}`), DedupeKey: "kept"}, item.New{ID: "done", Payload: []byte("1"), DedupeKey: "done"})
	n.mustPush(t, newItems(3, 5, "early")...)
	n.mustPush(t, newItems(8, 2, "late")...)
	n.mustPush(t, item.New{ID: "delayed", Payload: []byte("1"), Delay: time.Hour}, item.New{ID: "mine", Priority: 5, Payload: []byte("1")})
	if _, err := n.Push(t.Context(), true, "tester", newItems(2, 3, "twin")); err != nil {
		t.Fatal(err)
	}
	n.mustDo(t, item.Op{Kind: item.Assign, ID: "mine", Worker: "w9"}, item.OK)
	early := n.mustLease(t, "w", 3)
	n.mustDo(t, item.Op{Kind: item.Finish, ID: "done"}, item.OK)
	n.mustDo(t, item.Op{Kind: item.Suspend, ID: "late1"}, item.OK)
	n.mustDo(t, item.Op{Kind: item.Store, ID: "late2", Delay: 24 * time.Hour}, item.OK)
	n.mustDo(t, item.Op{Kind: item.Remove, ID: "late3"}, item.OK)
	n.mustDo(t, item.Op{Kind: item.Nack, ID: early[0].ID, Attempt: early[0].Attempt}, item.OK)
	dead := n.mustLease(t, "w", 1)[0]
	n.mustDo(t, item.Op{Kind: item.Nack, ID: dead.ID, Attempt: dead.Attempt}, item.OK)
	return early
}

// inLedger waits until the ledger has all that has moved.
func inLedger(t testing.TB, n *node) {
	t.Helper()
	for _, l := range n.lines {
		testenv.Eventually(t, func() bool {
			meta, err := n.client.HMGet(t.Context(), l.keys.meta(), "epoch", "out").Result()
			if err != nil || meta[1] == nil {
				return false
			}
			out, _ := strconv.ParseInt(meta[1].(string), 10, 64)
			applied, err := l.o.Ledger.AppliedMoves(t.Context(), l.name, meta[0].(string))
			return err == nil && applied >= out
		}, 60*time.Second)
	}
}

// order leases everything that anybody may have, and returns the ids.
func (n *node) order(t testing.TB) []string {
	t.Helper()
	return idsOf(n.mustLease(t, "w", 100))
}

func daily(o *Options) { o.Dedupe = Window{Day: true} }

func twoTries(o *Options) { o.MaxAttempts = 2 }

func TestQueuesComeBackAfterALoss(t *testing.T) {
	t.Parallel()
	testenv.Losses(t, "{"+queueName+"}", func(t testenv.Loss) {
		ledger := newMemoryLedger()
		nodes := []*node{newNode(t, t.Addr, ledger, daily, twoTries), newNode(t, t.Addr, ledger, daily, twoTries)}
		early := fill(t, nodes[0])
		if err := nodes[0].Pause(t.Context(), true, "operator", anOrder); err != nil {
			t.Fatal(err)
		}
		inLedger(t, nodes[0])
		t.Snapshot()
		done := nodes[1].mustLease(t, "w", 1)[0]
		nodes[1].mustDo(t, item.Op{Kind: item.Ack, ID: done.ID, Attempt: done.Attempt}, item.OK)
		if done.ID != "kept" {
			t.Fatalf("leased %s", done.ID)
		}
		held := nodes[1].mustLease(t, "w", 2)
		inLedger(t, nodes[1])

		t.Lose()
		for _, n := range nodes { // the first question after the loss is answered with everything
			sizes, err := n.Sizes(t.Context(), false, nil)
			if err != nil || sizes.Delayed != 1 || sizes.Suspended != 1 || sizes.Stored != 1 || sizes.Dead != 1 || sizes.Leased != 0 || sizes.Assigned != 1 {
				t.Errorf("%+v, %v", sizes, err)
			}
		}
		for _, lease := range slices.Concat(early[1:], held) { // those of before are over, on every node
			for _, n := range nodes {
				n.mustDo(t, item.Op{Kind: item.Ack, ID: lease.ID, Attempt: lease.Attempt}, item.LeaseLost)
			}
		}
		want := []string{"early2", "early3", "late4", "late5", "late6", "late7", "late8"}
		if diff := cmp.Diff(want, nodes[1].order(t)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if got := idsOf(nodes[0].mustLease(t, "w9", 1)); !slices.Equal(got, []string{"mine"}) {
			t.Errorf("w9 got %v", got)
		}
		// Keys of finished items hold until their day ends; the removed one's is free.
		for key, outcome := range map[string]item.PushOutcome{"kept": item.Duplicate, "done": item.Duplicate, "free": item.Pushed} {
			got, err := nodes[0].Push(t.Context(), false, "tester", []item.New{{ID: "again-" + key, Payload: []byte("1"), DedupeKey: key}})
			if err != nil || got[0].Outcome != outcome {
				t.Errorf("key %s: %+v, %v", key, got, err)
			}
		}
		twin := item.Step{Test: true, Caller: item.Caller{Worker: "w"}, Max: 10}
		if got := nodes[1].mustStep(t, twin).Items; len(got) != 0 {
			t.Errorf("the twin is paused and gave out %v", idsOf(got))
		}
		if err := nodes[1].Resume(t.Context(), true, "operator", anOrder); err != nil {
			t.Fatal(err)
		}
		if got := idsOf(nodes[0].mustStep(t, twin).Items); !slices.Equal(got, []string{"twin1", "twin2"}) {
			t.Errorf("the twin gave out %v", got)
		}
		if n := ledger.epochs(); n != 2 {
			t.Errorf("%d epochs", n)
		}
		inLedger(t, nodes[0])
		if got := ledger.traced(t, "early2", item.Leased); !slices.Contains(got, "2001 leased>ready 2001 ") {
			t.Errorf("the trace of early2: %v", got)
		}
	})
}

// Moves that were not drained when Redis was lost are unknown. Their work may be done again, but nothing else may
// happen.
func TestWhatWasNotDrainedMayBeDoneAgain(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	ledger := newMemoryLedger()
	n := newNodeThat(t, func(q *Queue, ctx context.Context) { q.keeper.Run(ctx) }, r.Addr, ledger)
	n.mustPush(t, newItems(3, 3, "i")...)
	n.work(t, "w", item.Op{Kind: item.Ack})
	lease := n.mustLease(t, "w", 1)[0]
	r.Restart()
	n.mustDo(t, item.Op{Kind: item.Ack, ID: lease.ID, Attempt: lease.Attempt}, item.LeaseLost)
	if got := n.order(t); !slices.Equal(got, []string{"i1", "i2", "i3"}) {
		t.Errorf("%v", got)
	}
}

// A Redis that was restarted or replaced may still have moves. They are recorded before the next epoch begins, so that
// their work need not be done again.
func TestWhatWasNotDrainedIsSalvaged(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	ledger := newMemoryLedger()
	n := newNodeThat(t, func(q *Queue, ctx context.Context) { q.keeper.Run(ctx) }, r.Addr, ledger)
	n.mustPush(t, newItems(3, 3, "i")...)
	n.work(t, "w", item.Op{Kind: item.Ack})
	n.work(t, "w", item.Op{Kind: item.Suspend})
	r.Save()
	n.work(t, "w", item.Op{Kind: item.Ack}) // this one is lost
	r.Restart()
	if got := n.order(t); !slices.Equal(got, []string{"i3"}) {
		t.Errorf("%v", got)
	}
	if got := ledger.traced(t, "i1", item.Done); len(got) != 3 || ledger.state("i2") != item.Suspended {
		t.Errorf("%v, %s", got, ledger.state("i2"))
	}
	if ledger.epochs() != 2 {
		t.Errorf("%d epochs", ledger.epochs())
	}
}

// A restart of the node alone loses nothing and begins no epoch: leases and requests go on.
func TestRestartOfANodeKeepsTheEpoch(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		first := newNode(t, t.addr, ledger)
		first.mustPush(t, newItems(2, 3, "i")...)
		lease := first.mustLease(t, "w", 1)[0]
		first.stop()
		second := newNode(t, t.addr, ledger)
		second.mustDo(t, item.Op{Kind: item.Ack, ID: lease.ID, Attempt: lease.Attempt}, item.OK)
		if n := ledger.epochs(); n != 1 {
			t.Errorf("%d epochs", n)
		}
	})
}

// Without a ledger nothing comes back, and the queue goes on.
func TestRedisAloneGoesOnAfterALoss(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	n := newNode(t, r.Addr, nil)
	n.mustPush(t, newItems(2, 3, "i")...)
	r.Restart()
	if got := n.order(t); len(got) != 0 {
		t.Errorf("%v", got)
	}
	n.mustPush(t, newItems(1, 3, "j")...)
	if got := n.order(t); !slices.Equal(got, []string{"j1"}) {
		t.Errorf("%v", got)
	}
}

func TestALedgerThatIsDownEndsNoRebuildForEver(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	ledger := newMemoryLedger()
	n := newNode(t, r.Addr, ledger)
	n.mustPush(t, newItems(1, 3, "i")...)
	ledger.fail(errors.New("the ledger is down"))
	r.Restart()
	testenv.Eventually(t, func() bool { return n.Ready() != nil }, 60*time.Second)
	ledger.fail(nil)
	if got := n.order(t); !slices.Equal(got, []string{"i1"}) {
		t.Errorf("%v", got)
	}
}

// record has the ledger know many ready items of all priorities, i0 to i<n-1>.
func record(t testing.TB, ledger Ledger, n int) {
	t.Helper()
	now := time.Now().Truncate(time.Microsecond).UTC()
	payload := []byte(`"` + strings.Repeat("x", 298) + `"`)
	records := make([]item.Record, n)
	for i := range records {
		records[i] = item.Record{
			New:   item.New{ID: "i" + strconv.Itoa(i), Priority: 1 + i%5, Payload: payload, Created: now, DedupeKey: strconv.Itoa(i)},
			State: item.Ready, Ready: now,
		}
		records[i].Bucket, records[i].Until = Window{}.bucket("", records[i].DedupeKey, now, time.UTC)
	}
	for part := range slices.Chunk(records, 5000) {
		if _, err := ledger.PushItems(t.Context(), queueName, part); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRebuildOfMany(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	r := testenv.Redis(t)
	ledger := newMemoryLedger()
	record(t, ledger, rebuilt)
	began := time.Now()
	n := newNode(t, r.Addr, ledger)
	t.Logf("%d items came back in %s", rebuilt, time.Since(began))
	if got := idsOf(n.mustLease(t, "w", 3)); !slices.Equal(got, []string{"i4", "i9", "i14"}) {
		t.Errorf("the first are %v", got)
	}
	sizes, err := n.Sizes(t.Context(), false, nil)
	if err != nil || sizes.Ready != rebuilt-3 {
		t.Errorf("%+v, %v", sizes, err)
	}
}
