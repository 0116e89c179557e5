package queue

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// atOnce runs a queue that puts missing items into Redis without a delay.
func atOnce(q *Queue, ctx context.Context) { //nolint:revive // as a method expression has it
	for _, s := range q.sweepers {
		s.every, s.grace = 20*time.Millisecond, 0
	}
	q.Run(ctx)
}

// recordOnly is a push that dies between the ledger and Redis.
func recordOnly(t testing.TB, l *queueLine, items ...item.New) {
	t.Helper()
	records, err := l.newRecords("tester", items)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.o.Ledger.PushItems(t.Context(), l.name, records); err != nil {
		t.Fatal(err)
	}
}

func TestAPushThatDiedHalfwayIsFinished(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		n := newNodeThat(t, atOnce, t.addr, ledger)
		for i, l := range n.lines {
			recordOnly(t, l, newItems(2, 4, "i")...)
			recordOnly(t, l, item.New{ID: "later", Priority: 5, Payload: []byte("1"), Delay: time.Hour})
			s := item.Step{Test: i == 1, Caller: item.Caller{Worker: "w"}, Max: 10}
			var got []string
			testenv.Eventually(t, func() bool {
				got = append(got, idsOf(n.mustStep(t, s).Items)...)
				return len(got) == 2
			}, 20*time.Second)
			if !slices.Equal(got, []string{"i1", "i2"}) {
				t.Errorf("%s has %v", l.name, got)
			}
			sizes, err := n.Sizes(t.Context(), i == 1, nil)
			if err != nil || sizes.Delayed != 1 {
				t.Errorf("%s: %+v, %v", l.name, sizes, err)
			}
		}
	})
}

// A push that died halfway was never answered. If its dedupe key was taken in between, the item ends.
func TestAPushThatDiedHalfwayDoesNotTakeAKeyAway(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	n := newNodeThat(t, atOnce, testenv.Redis(t).Addr, ledger)
	first := item.New{ID: "first", Payload: []byte("1"), DedupeKey: "bin A-01"}
	second := first
	second.ID = "second"
	n.mustPush(t, second)
	recordOnly(t, n.lines[0], first)
	testenv.Eventually(t, func() bool { return ledger.state("first") == item.Refused }, 20*time.Second)
	if got := idsOf(n.mustLease(t, "w", 10)); !slices.Equal(got, []string{"second"}) {
		t.Errorf("%v", got)
	}
}

func TestAnItemThatRedisLostComesBackAsItStood(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	n := newNodeThat(t, atOnce, testenv.Redis(t).Addr, ledger)
	n.mustPush(t, newItems(3, 4, "i")...)
	leases := n.mustLease(t, "w", 2)
	n.mustStep(t, item.Step{Caller: item.Caller{Worker: "w"}, Ops: []item.Op{{Kind: item.Suspend, ID: "i2", Attempt: leases[1].Attempt}}})
	if err := n.client.HDel(t.Context(), n.lines[0].keys.items(), "i1", "i2", "i3").Err(); err != nil {
		t.Fatal(err)
	}
	// The ready one, and the leased one with the number of another attempt; the suspended one is suspended.
	var again []item.Lease
	testenv.Eventually(t, func() bool {
		again = append(again, n.mustLease(t, "w", 10)...)
		return len(again) == 2
	}, 20*time.Second)
	got := idsOf(again)
	slices.Sort(got)
	if !slices.Equal(got, []string{"i1", "i3"}) {
		t.Errorf("leased %v", got)
	}
	n.mustDo(t, item.Op{Kind: item.Ack, ID: "i1", Attempt: leases[0].Attempt}, item.LeaseLost)
	sizes, err := n.Sizes(t.Context(), false, nil)
	if err != nil || sizes.Suspended != 1 || sizes.Leased != 2 || sizes.Ready != 0 {
		t.Errorf("%+v, %v", sizes, err)
	}
}

// An item that has ended is not in Redis, and the ledger does not know it before the outbox is drained. It must not
// come back.
func TestAFinishedItemDoesNotComeBack(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	keepOnly := func(q *Queue, ctx context.Context) { q.keeper.Run(ctx) } // nothing is drained
	n := newNodeThat(t, keepOnly, testenv.Redis(t).Addr, ledger)
	n.mustPush(t, newItems(2, 4, "i")...)
	id := n.work(t, "w", item.Op{Kind: item.Ack})
	s := n.sweepers[0]
	s.grace = 0
	g, _ := n.keeper.Current()
	if err := s.sweep(t.Context(), g); err != nil || len(s.missing) != 1 { // it looks lost, for the first time
		t.Fatalf("%v, %v", s.missing, err)
	}
	swept := make(chan error, 1)
	go func() { swept <- s.sweep(t.Context(), g) }()
	ctx, cancel := context.WithCancel(t.Context())
	drained := make(chan struct{})
	go func() { defer close(drained); n.drainers[0].run(ctx) }()
	if err := <-swept; err != nil {
		t.Error(err)
	}
	cancel()
	<-drained
	if there, err := n.client.HExists(t.Context(), n.lines[0].keys.items(), id).Result(); err != nil || there {
		t.Errorf("%s is there: %v, %v", id, there, err)
	}
	if got := ledger.state(id); got != item.Done {
		t.Errorf("the ledger has it as %s", got)
	}
	if err := s.sweep(t.Context(), g); err != nil || len(s.missing) != 0 {
		t.Errorf("%v, %v", s.missing, err)
	}
}

// There are more items than one page has. Each page has its turn, and late items are looked at out of turn.
func TestEveryPageIsSwept(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	n := newNode(t, testenv.Miniredis(t).Addr(), ledger)
	for range 2 {
		n.mustPush(t, newItems(restorePage, 4, "")...)
	}
	recordOnly(t, n.lines[0], newItems(1, 4, "last")...)
	s := newSweeper(n.Queue, n.lines[0], n.drainers[0], n.log)
	s.grace = 0
	g, _ := n.keeper.Current()
	rounds := 0
	for there := false; !there; rounds++ {
		if rounds == 10 {
			t.Fatal("it was not found")
		}
		if err := s.sweep(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		var err error
		if there, err = n.client.HExists(t.Context(), n.lines[0].keys.items(), "last1").Result(); err != nil {
			t.Fatal(err)
		}
	}
	if rounds != 4 { // three pages, and that of the late one again
		t.Errorf("%d rounds", rounds)
	}
}

// If Redis loses a payload but not its item, no worker gets the item without the payload, and the sweep puts both back.
func TestAnItemWhosePayloadRedisLostComesBack(t *testing.T) {
	t.Parallel()
	n := newNodeThat(t, atOnce, testenv.Redis(t).Addr, newMemoryLedger())
	payload := []byte(`"` + strings.Repeat("x", largePayload) + `"`)
	n.mustPush(t, item.New{ID: "large", Priority: 5, Payload: payload}, item.New{ID: "mine", Payload: payload})
	n.mustPush(t, item.New{ID: "small", Payload: []byte("1")})
	n.mustDo(t, item.Op{Kind: item.Assign, ID: "mine", Worker: "w"}, item.OK)
	if err := n.client.Del(t.Context(), n.lines[0].keys.payloads()).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := n.Get(t.Context(), false, nil, "large"); err != nil || !bytes.Equal(got.Item.Payload, payload) {
		t.Errorf("it is shown with %d bytes, %v", len(got.Item.Payload), err)
	}
	leases := n.mustLease(t, "w", 10)
	testenv.Eventually(t, func() bool {
		leases = append(leases, n.mustLease(t, "w", 10)...)
		return len(leases) == 3
	}, 20*time.Second)
	for _, l := range leases {
		if l.ID != "small" && !bytes.Equal(l.Payload, payload) {
			t.Errorf("%s came with %d bytes", l.ID, len(l.Payload))
		}
		n.mustDo(t, item.Op{Kind: item.Ack, ID: l.ID, Attempt: l.Attempt}, item.OK)
	}
	if left, err := n.client.HLen(t.Context(), n.lines[0].keys.payloads()).Result(); err != nil || left > 0 {
		t.Errorf("%d payloads are left, %v", left, err)
	}
}
