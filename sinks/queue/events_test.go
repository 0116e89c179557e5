package queue

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// gateway is the push channel that gets all events.
const gateway = "gateway"

func tellsGateway(o *Options) {
	o.Events = &item.Events{
		Sink: gateway, Strategy: delivery.Strategy{Kind: delivery.Important},
		On: []item.Event{item.EventReadyAgain, item.EventAssigned, item.EventDead, item.EventDone, item.EventRemoved},
	}
}

// delivered delivers what there is until so many events came, and returns them in their order, as "i1 dead 4".
func delivered(t testing.TB, l ledger.Ledger, n int) []string {
	t.Helper()
	var out []string
	testenv.Eventually(t, func() bool {
		claims, err := l.ClaimPushes(t.Context(), gateway, "deliverer", time.Minute, 100)
		if err != nil {
			t.Fatal(err)
		}
		settled := make([]delivery.Settlement, len(claims.List))
		for i, c := range claims.List {
			told := item.ReadTold(c.Notice.Data)
			out = append(out, fmt.Sprintf("%s %s %d", told.ID, told.Event, told.N))
			settled[i] = delivery.Settlement{Seq: c.Seq, Token: c.Token, Kind: delivery.SettleSent}
		}
		if err := l.SettlePushes(t.Context(), settled); err != nil {
			t.Fatal(err)
		}
		return len(out) >= n
	}, 20*time.Second)
	return out
}

// The push channel gets the operations of workers and operators on an item, in order. It gets none of the test twin.
func TestAPushChannelIsToldOfEvents(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		clock := newTestClock(time.Now())
		n := newNode(t, testenv.Redis(t).Addr, l, tellsGateway, clock.option, func(o *Options) { o.MaxAttempts = 4 })
		if _, err := n.Push(t.Context(), true, "tester", newItems(1, 3, "twin")); err != nil {
			t.Fatal(err)
		}
		n.mustStep(t, item.Step{Test: true, By: "tester", Ops: []item.Op{{Kind: item.Remove, ID: "twin1"}}})
		late := newItems(1, 3, "late")
		late[0].Delay = time.Minute
		n.mustPush(t, append(newItems(1, 3, "i"), late...)...)

		n.work(t, "w", item.Op{Kind: item.Release})
		n.work(t, "w", item.Op{Kind: item.Nack})                         // 4: ready again
		n.work(t, "w", item.Op{Kind: item.Nack, Delay: 5 * time.Second}) // 6
		clock.advance(6 * time.Second)
		n.work(t, "w", item.Op{Kind: item.Suspend})                                 // 7: ready again, 9
		n.mustDo(t, item.Op{Kind: item.Assign, ID: "i1", Worker: "keiko"}, item.OK) // 10: assigned
		n.mustDo(t, item.Op{Kind: item.Store, ID: "i1", Delay: time.Hour}, item.OK) // 11
		n.mustDo(t, item.Op{Kind: item.Assign, ID: "i1", Worker: ""}, item.OK)      // 12
		clock.advance(time.Hour)                                                    // late1 is ready for the first time, and i1 again
		for _, id := range idsOf(n.mustLease(t, "w", 2)) {                          // 14
			if id != "i1" {
				n.mustDo(t, item.Op{Kind: item.Finish, ID: id}, item.IsLeased)
			}
		}
		clock.advance(2 * time.Minute) // both leases run out: 15, ready again
		leases := n.mustLease(t, "w", 2)
		for _, lease := range leases { // 16, 17: i1 is dead, late1 is done
			op := item.Op{Kind: item.Nack, ID: lease.ID, Attempt: lease.Attempt}
			if lease.ID == "late1" {
				op.Kind = item.Ack
			}
			n.mustDo(t, op, item.OK)
		}
		n.mustDo(t, item.Op{Kind: item.Requeue, ID: "i1"}, item.OK) // 18: ready again
		n.mustDo(t, item.Op{Kind: item.Remove, ID: "i1"}, item.OK)  // 19
		got := delivered(t, l, 10)
		want := []string{
			"i1 ready_again 4", "i1 ready_again 7", "i1 assigned 10", "i1 ready_again 13", "i1 ready_again 15", "i1 dead 17", "i1 ready_again 18", "i1 removed 19",
		}
		of := func(prefix string) []string {
			return slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s[:1] != prefix })
		}
		if diff := cmp.Diff(want, of("i")); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if diff := cmp.Diff([]string{"late1 ready_again 3", "late1 done 5"}, of("l")); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// However often the connection breaks and nodes take over from each other, each event is there once, and in order.
func TestEventsComeOnceWhateverBreaks(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, base ledger.Ledger) {
		t.Helper()
		l := &cutLedger{Ledger: base}
		addr := testenv.Redis(t).Addr
		const items = 40
		first := newNode(t, addr, l, tellsGateway)
		first.mustPush(t, newItems(items, 3, "i")...)
		var want []string
		n := first
		for round := range 6 {
			l.after.Store(round%2 == 0)
			l.cut.Store(true)
			calls := l.calls.Load()
			for i := range items {
				id, move := fmt.Sprintf("i%d", i+1), 2*round+1
				n.mustDo(t, item.Op{Kind: item.Store, ID: id, Delay: time.Microsecond}, item.OK)
				want = append(want, fmt.Sprintf("%s ready_again %d", id, move+1))
			}
			testenv.Eventually(t, func() bool { return l.calls.Load() > calls }, 20*time.Second)
			testenv.Eventually(t, func() bool { return len(n.ready(t)) == items }, 20*time.Second)
			l.cut.Store(false)
			if round == 2 { // another node drains from here on, and the first ends while moves wait
				n = newNode(t, addr, l, tellsGateway)
				first.stop()
			}
		}
		got := delivered(t, base, len(want))
		for i := range items {
			of := func(list []string) []string {
				return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s[:len(fmt.Sprintf("i%d ", i+1))] != fmt.Sprintf("i%d ", i+1) })
			}
			if diff := cmp.Diff(of(want), of(got)); diff != "" {
				t.Fatalf("-want +got\n%s", diff)
			}
		}
		if more, err := base.ClaimPushes(t.Context(), gateway, "deliverer", time.Minute, 100); err != nil || len(more.List) > 0 || len(got) != len(want) {
			t.Errorf("%d events, then %d more, %v", len(got), len(more.List), err)
		}
	})
}

// Items that are written back after a loss of Redis have not become ready again.
func TestWhatIsWrittenBackIsNoEvent(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		n := newNode(t, testenv.Redis(t).Addr, l, tellsGateway)
		n.mustPush(t, newItems(2, 3, "i")...)
		n.work(t, "w", item.Op{Kind: item.Nack})
		n.mustLease(t, "w", 2)
		if got := delivered(t, l, 1); got[0] != "i1 ready_again 2" {
			t.Error(got)
		}
		testenv.Eventually(t, func() bool { // both leases are in the ledger
			list, err := l.UnfinishedItems(t.Context(), queueName, 0, 10)
			return err == nil && list[0].State == item.Leased && list[1].State == item.Leased
		}, 10*time.Second)
		if err := n.client.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		testenv.Eventually(t, func() bool { return len(n.readyIfAny(t)) == 2 }, 20*time.Second)
		n.mustDo(t, item.Op{Kind: item.Remove, ID: "i2"}, item.OK)
		if got := delivered(t, l, 1); len(got) != 1 || got[0][:10] != "i2 removed" {
			t.Error(got)
		}
	})
}

// readyIfAny is ready while Redis may be away.
func (n *node) readyIfAny(t testing.TB) []string {
	t.Helper()
	page, err := n.List(t.Context(), item.Query{State: item.Ready, Limit: item.MaxBatch})
	ids := make([]string, len(page.Items))
	if err != nil {
		return nil
	}
	return ids
}

func TestRemoveGone(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	n := newNode(t, testenv.Redis(t).Addr, ledger, tellsGateway)
	n.mustPush(t, newItems(4, 3, "i")...)
	gone := func(id string, move int64, want bool) {
		t.Helper()
		removed, err := n.RemoveGone(t.Context(), &item.Told{Queue: queueName, ID: id, Move: item.Move{N: move}}, "sink:gateway", "gone")
		if err != nil || removed != want {
			t.Errorf("%s: %v, %v", id, removed, err)
		}
	}
	gone("i1", 1, true)
	if trace := ledger.traced(t, "i1", item.Removed); trace[len(trace)-1] != "1 ready>removed 0 sink:gateway" {
		t.Errorf("%v", trace)
	}
	gone("i1", 1, false)
	gone("nothing", 1, false)

	leased := n.mustLease(t, "w", 1)[0]
	gone(leased.ID, 1, true)
	n.mustDo(t, item.Op{Kind: item.Ack, ID: leased.ID, Attempt: leased.Attempt}, item.LeaseLost)

	// The item was done and opened again since the event.
	n.mustDo(t, item.Op{Kind: item.Store, ID: "i3", Delay: time.Hour}, item.OK)
	testenv.Eventually(t, func() bool { return ledger.state("i3") == item.Stored }, 60*time.Second)
	ledger.relive("i3")
	gone("i3", 1, false)
	gone("i3", 9, true) // an event of the later life

	// Until the ledger has the moves, the channel gets no events.
	ledger.fail(context.DeadlineExceeded)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if removed, err := n.RemoveGone(ctx, &item.Told{Queue: queueName, ID: "i4"}, "sink:gateway", "gone"); err == nil || removed {
		t.Errorf("removed: %v, %v", removed, err)
	}
	ledger.fail(nil)
	gone("i4", 0, true)
}

// gap does something between the look at a trace and what follows from it.
type gap struct {
	ledger.Ledger

	between func()
}

func (l *gap) ItemTrace(ctx context.Context, queue, id string) (item.Record, []item.Move, error) {
	r, trace, err := l.Ledger.ItemTrace(ctx, queue, id)
	if f := l.between; f != nil {
		l.between = nil
		f()
	}
	return r, trace, err
}

// An item that ends and begins another life while the answer about the life before is looked at stays.
func TestRemoveGoneLeavesTheNextLife(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		g := &gap{Ledger: l}
		n := newNode(t, testenv.Redis(t).Addr, g)
		n.pushes(t, item.New{ID: "a", Payload: []byte("1")}, item.Pushed)
		g.between = func() {
			n.mustDo(t, item.Op{Kind: item.Finish, ID: "a"}, item.OK)
			n.pushes(t, askAgain("a", ""), item.Pushed)
		}
		told := &item.Told{Queue: queueName, ID: "a", Move: item.Move{N: 1}}
		if removed, err := n.RemoveGone(t.Context(), told, "sink:gateway", "gone"); err != nil || removed {
			t.Errorf("removed: %t, %v", removed, err)
		}
		inOrder(t, "ready", n.ready(t), "a")
	})
}

// relive puts the end of a life, and the beginning of another, behind the moves of an item.
func (l *memoryLedger) relive(id string) {
	q, leave, _ := l.enter(queueName)
	defer leave()
	i := q.items[q.byID[id]]
	i.trace = append(i.trace, item.Move{Seq: i.Seq, N: 7, From: item.Ready, To: item.Done}, item.Move{Seq: i.Seq, N: 8, From: item.Done, To: item.Ready})
}
