package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// In other systems, a late worker may finish an item that another worker has by then, or that other worker gets an
// error.
func TestAStaleAckIsRefusedAndTheHolderUndisturbed(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(time.Now())
		n := newNode(t, t.addr, newMemoryLedger(), clock.option)
		n.mustPush(t, newItems(1, 3, "i")...)
		late := n.mustLease(t, "late", 1)[0]
		clock.advance(2 * time.Minute)
		holder := n.mustLease(t, "holder", 1)[0]
		if holder.Attempt != late.Attempt+1 || holder.Failures != 1 {
			t.Fatalf("first %+v, then %+v", late, holder)
		}
		for _, kind := range []item.OpKind{item.Ack, item.Nack, item.Release, item.Extend, item.Suspend, item.Store} {
			op := item.Op{Kind: kind, ID: "i1", Attempt: late.Attempt}
			if kind == item.Store {
				op.Delay = time.Hour
			}
			n.mustDo(t, op, item.LeaseLost)
		}
		for _, kind := range []item.OpKind{item.Finish, item.Assign, item.Remove, item.Requeue} {
			n.mustDo(t, item.Op{Kind: kind, ID: "i1"}, item.IsLeased)
		}
		n.mustDo(t, item.Op{Kind: item.Ack, ID: "i1", Attempt: holder.Attempt}, item.OK)
		n.mustDo(t, item.Op{Kind: item.Ack, ID: "i1", Attempt: late.Attempt}, item.LeaseLost)
	})
}

// An ended lease counts as over only when another worker could have the item.
func TestAnAckThatComesLateCountsWhileNobodyElseHasTheItem(t *testing.T) {
	t.Parallel()
	clock := newTestClock(time.Now())
	n := newNodeThat(t, keep, testenv.Redis(t).Addr, newMemoryLedger(), clock.option)
	n.mustPush(t, newItems(2, 3, "i")...)
	leases := n.mustLease(t, "w", 2)
	clock.advance(2 * time.Minute)
	out := n.mustStep(t, item.Step{Caller: item.Caller{Worker: "w"}, Max: 2, Ops: []item.Op{{Kind: item.Ack, ID: "i1", Attempt: leases[0].Attempt}}})
	if out.Results[0].Outcome != item.OK || !slices.Equal(idsOf(out.Items), []string{"i2"}) || out.Items[0].Attempt != 2 {
		t.Errorf("%+v", out)
	}
}

// Those whose leases ended come back before the others, the oldest lease first, and are dead after max_attempts.
func TestExpiredLeases(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(time.Now())
		n := newNode(t, t.addr, newMemoryLedger(), clock.option, func(o *Options) { o.MaxAttempts = 2 })
		n.mustPush(t, newItems(5, 3, "i")...)
		for range 3 {
			n.mustLease(t, "w", 1)
			clock.advance(time.Second)
		}
		clock.advance(time.Minute)
		if got, want := idsOf(n.mustLease(t, "w", 4)), []string{"i1", "i2", "i3", "i4"}; !slices.Equal(got, want) {
			t.Fatalf("leased %v, want %v", got, want)
		}
		clock.advance(2 * time.Minute)
		if got, want := idsOf(n.mustLease(t, "w", 10)), []string{"i4", "i5"}; !slices.Equal(got, want) {
			t.Fatalf("leased %v, want %v", got, want)
		}
		sizes, err := n.Sizes(t.Context(), false, nil)
		if err != nil || sizes.Dead != 3 || sizes.Leased != 2 {
			t.Errorf("%+v, %v", sizes, err)
		}
		n.mustDo(t, item.Op{Kind: item.Finish, ID: "i1"}, item.IsDead)
		n.mustDo(t, item.Op{Kind: item.Requeue, ID: "i1"}, item.OK)
		n.mustDo(t, item.Op{Kind: item.Remove, ID: "i2"}, item.OK)
		if got := n.mustLease(t, "w", 1); got[0].ID != "i1" || got[0].Failures != 0 || got[0].Attempt != 3 {
			t.Errorf("requeued: %+v", got)
		}
	})
}

func TestSuspendsHaveALimitThatStoringResets(t *testing.T) {
	t.Parallel()
	clock := newTestClock(time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC))
	n := newNode(t, testenv.Redis(t).Addr, newMemoryLedger(), clock.option)
	n.mustPush(t, newItems(1, 3, "i")...)
	for _, step := range []time.Duration{2 * time.Hour, 12 * time.Hour} {
		lease := n.mustLease(t, "w", 1)[0]
		got := n.mustDo(t, item.Op{Kind: item.Suspend, ID: "i1", Attempt: lease.Attempt}, item.OK)
		if want := clock.now().Add(step); got.State != item.Suspended || !got.Due.Equal(want) {
			t.Fatalf("%+v, want until %s", got, want)
		}
		clock.advance(step - time.Microsecond)
		if got := n.mustLease(t, "w", 1); len(got) != 0 {
			t.Fatalf("it came early: %+v", got)
		}
		clock.advance(time.Microsecond)
	}
	lease := n.mustLease(t, "w", 1)[0]
	if lease.Suspends != 2 {
		t.Errorf("%+v", lease)
	}
	n.mustDo(t, item.Op{Kind: item.Suspend, ID: "i1", Attempt: lease.Attempt}, item.SuspendLimit)
	n.mustDo(t, item.Op{Kind: item.Store, ID: "i1", Attempt: lease.Attempt, Delay: 48 * time.Hour}, item.OK)
	n.mustDo(t, item.Op{Kind: item.Suspend, ID: "i1"}, item.OK)
}

// Peers unpack as many values as there are, and a Lua stack does not hold them: 10,000 leases that end at once, beside
// 9,000 dead.
func TestTenThousandLeasesEndAtOnce(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	onAll(t, func(t site) {
		clock := newTestClock(time.Now())
		n := newNode(t, t.addr, nil, clock.option, func(o *Options) { o.MaxAttempts = 2 })
		dead, leased := 9000, 10_000
		if strings.HasSuffix(t.Name(), "miniredis") { // whose stack is another, and which is slow
			dead, leased = 1000, 3000
		}
		for i := range (dead + leased) / item.MaxBatch {
			n.mustPush(t, newItems(item.MaxBatch, 3, fmt.Sprintf("i%02d.", i))...)
		}
		nacks := func(lease item.Lease) item.Op { return item.Op{Kind: item.Nack, ID: lease.ID, Attempt: lease.Attempt} }
		for range dead / item.MaxBatch { // the first nack puts it behind the others, with the second it is dead
			all(t, n, nacks, n.mustLease(t, "w", item.MaxBatch), item.Ready)
		}
		for range leased / item.MaxBatch {
			n.mustLease(t, "w", item.MaxBatch)
		}
		for range dead / item.MaxBatch {
			all(t, n, nacks, n.mustLease(t, "w", item.MaxBatch), item.Dead)
		}
		clock.advance(time.Hour)
		var got []item.Lease
		for range leased / item.MaxBatch {
			got = append(got, n.mustLease(t, "w", item.MaxBatch)...)
		}
		sizes, err := n.Sizes(t.Context(), false, nil)
		if len(got) != leased || err != nil || int(sizes.Dead) != dead || int(sizes.Leased) != leased || sizes.Ready != 0 {
			t.Fatalf("%d leased again; %+v, %v", len(got), sizes, err)
		}
		for i, lease := range got {
			if lease.Failures != 1 {
				t.Fatalf("%d: %+v", i, lease)
			}
		}
		acks := func(lease item.Lease) item.Op { return item.Op{Kind: item.Ack, ID: lease.ID, Attempt: lease.Attempt} }
		for part := range slices.Chunk(got, item.MaxBatch) {
			all(t, n, acks, part, item.Done)
		}
		count, err := n.RequeueDead(t.Context(), item.Bulk{Test: false, By: "tester"})
		if err != nil || count != dead {
			t.Errorf("requeued %d, %v", count, err)
		}
	})
}

// all does an operation on every one of the leases, in one step.
func all(t testing.TB, n *node, op func(item.Lease) item.Op, leases []item.Lease, want item.State) {
	t.Helper()
	ops := make([]item.Op, len(leases))
	for i, lease := range leases {
		ops[i] = op(lease)
	}
	for _, r := range n.mustStep(t, item.Step{Caller: item.Caller{Worker: "w"}, Ops: ops}).Results {
		if r.Outcome != item.OK || r.State != want {
			t.Fatalf("%s of %s came out as %s %s, want %s", r.Kind, r.ID, r.Outcome, r.State, want)
		}
	}
}

// Many are taken out of the middle of a level at once; the others keep their order.
func TestManyLeaveTheMiddleOfALevel(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		var want []string
		var ops []item.Op
		for i := range 3 {
			for j, id := range n.mustPush(t, newItems(item.MaxBatch, 3, fmt.Sprintf("i%d.", i))...) {
				if i == 1 && j%3 != 0 || i == 2 && j < 10 {
					ops = append(ops, item.Op{Kind: item.Remove, ID: id})
				} else {
					want = append(want, id)
				}
			}
		}
		for _, r := range n.mustStep(t, item.Step{By: "tester", Ops: ops}).Results {
			if r.Outcome != item.OK {
				t.Fatalf("%+v", r)
			}
		}
		var got []string
		for range 3 {
			got = append(got, idsOf(n.mustLease(t, "w", item.MaxBatch))...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d are left, want %d", len(got), len(want))
		}
	})
}

// A worker passes its item to another worker. No third worker gets the item, it comes first there, and it has not
// failed.
func TestAWorkerPassesItsItemOn(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		n.mustPush(t, newItems(2, 3, "i")...)
		had := n.mustLease(t, "w1", 1)[0]
		on := item.Op{Kind: item.Assign, ID: had.ID, Attempt: had.Attempt, Worker: "w2"}
		n.mustDo(t, on, item.OK)
		n.mustDo(t, on, item.LeaseLost)
		if got := n.mustLease(t, "w1", 2); len(got) != 1 || got[0].ID != "i2" {
			t.Errorf("the one that had it got %v", idsOf(got))
		}
		if got := n.mustLease(t, "w2", 2); len(got) != 1 || got[0].ID != had.ID || got[0].Attempt != had.Attempt+1 || got[0].Failures != 0 {
			t.Errorf("the other got %+v", got)
		}
	})
}
