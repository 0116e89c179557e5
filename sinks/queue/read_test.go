package queue

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
)

var morning = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

// everyState has items in every state: two that are ready on level 5 and one on level 1, and one of each other state,
// named after it. The clock stands at 9 o'clock then.
func everyState(t testing.TB, n *node, clock *testClock) {
	t.Helper()
	attempt := func(id string) int {
		for _, l := range n.mustLease(t, "w", 1) {
			if l.ID == id {
				return l.Attempt
			}
		}
		t.Fatalf("%s is not served", id)
		return 0
	}
	for _, op := range []item.Op{
		{Kind: item.Suspend, ID: "suspended"},
		{Kind: item.Store, ID: "stored", Delay: 48 * time.Hour},
		{Kind: item.Nack, ID: "dead"},
		{Kind: item.Ack, ID: "done"},
	} {
		n.mustPush(t, item.New{ID: op.ID, Priority: 4, Payload: []byte(`{}`)})
		op.Attempt = attempt(op.ID)
		n.mustDo(t, op, item.OK)
	}
	n.mustPush(t, item.New{ID: "removed", Priority: 4, Payload: []byte(`{}`)})
	n.mustDo(t, item.Op{Kind: item.Remove, ID: "removed"}, item.OK)
	n.mustPush(t, item.New{ID: "leased", Priority: 4, Payload: []byte(`{}`)})
	n.mustStep(t, item.Step{Caller: item.Caller{Worker: "w"}, Max: 1, Lease: 3 * time.Hour})
	n.mustPush(t, item.New{ID: "delayed", Priority: 4, Payload: []byte(`{}`), Delay: 2 * time.Hour})
	n.mustPush(t, item.New{ID: "assigned", Priority: 4, Payload: []byte(`{}`)})
	n.mustDo(t, item.Op{Kind: item.Assign, ID: "assigned", Worker: "a"}, item.OK)
	for i, priority := range []int{1, 5, 5} {
		clock.advance(20 * time.Minute)
		n.mustPush(t, item.New{ID: fmt.Sprintf("ready%d", i), Priority: priority, Payload: []byte(`{}`)})
	}
}

// oneFailure makes the first failure of an item its last.
func oneFailure(o *Options) { o.MaxAttempts = 1 }

func TestSizes(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(morning)
		n := newNode(t, t.addr, newMemoryLedger(), clock.option, oneFailure)
		everyState(t, n, clock)
		got, err := n.Sizes(t.Context(), false, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := item.Sizes{
			Ready: 3, Assigned: 1, Leased: 1, Delayed: 1, Suspended: 1, Stored: 1, Dead: 1, DeadSince: morning,
			Levels: []item.Level{
				{Priority: 5, Ready: 2, Oldest: morning.Add(40 * time.Minute)},
				{Priority: 4},
				{Priority: 3},
				{Priority: 2},
				{Priority: 1, Ready: 1, Oldest: morning.Add(20 * time.Minute)},
			},
			Recent: item.Recent{Span: 5 * time.Minute, Pushed: 1},
		}
		want.Warehouses = []item.Depth{{
			Ready: 3, Assigned: 1, Leased: 1, Delayed: 1, Suspended: 1, Stored: 1, Dead: 1, DeadSince: morning, Recent: item.Recent{Span: 5 * time.Minute, Pushed: 1},
			Levels: want.Levels,
		}}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%+v\nwant %+v", got, want)
		}
		if err := n.Pause(t.Context(), false, "op", anOrder); err != nil {
			t.Fatal(err)
		}
		got, err = n.Sizes(t.Context(), false, nil)
		if p := got.Pause; err != nil || !p.Paused || p.By != "op" || !p.At.Equal(clock.now()) {
			t.Errorf("%+v, %v", p, err)
		}
		twin, err := n.Sizes(t.Context(), true, nil)
		if err != nil || twin.Ready+twin.Leased+twin.Dead != 0 || twin.Pause.Paused || len(twin.Levels) != 5 {
			t.Errorf("the twin: %+v, %v", twin, err)
		}
	})
}

func TestRank(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(morning)
		n := newNode(t, t.addr, nil, clock.option)
		for priority := item.LowestPriority; priority <= item.HighestPriority; priority++ {
			n.mustPush(t, newItems(3, priority, fmt.Sprintf("p%d.", priority))...)
		}
		wantRank := func(id string, place, score int64) {
			t.Helper()
			got, err := n.Rank(t.Context(), false, nil, id)
			if want := (item.Rank{ID: id, Place: place, Score: score}); err != nil || got != want {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
		}
		at := morning.UnixMilli()
		wantRank("p5.1", 1, at)
		wantRank("p4.2", 5, at+1e13)
		wantRank("p1.3", 15, at+4e13)
		// Items that only w gets are served before the others of their level.
		clock.advance(time.Second)
		for _, id := range []string{"p4.3", "p4.1", "p5.1"} {
			n.mustDo(t, item.Op{Kind: item.Assign, ID: id, Worker: "w"}, item.OK)
		}
		n.mustDo(t, item.Op{Kind: item.Assign, ID: "p5.2", Worker: "w2"}, item.OK)
		wantRank("p5.1", 1, at+1000)
		wantRank("p5.3", 1, at)
		wantRank("p4.3", 3, at+1e13+1000)
		wantRank("p4.1", 4, at+1e13+1000)
		wantRank("p4.2", 2, at+1e13)
		if got := strings.Join(idsOf(n.mustLease(t, "w", 5)), " "); got != "p5.1 p5.3 p4.3 p4.1 p4.2" {
			t.Errorf("w got %s", got)
		}
		for _, id := range []string{"p5.1", "none"} {
			if _, err := n.Rank(t.Context(), false, nil, id); !errors.Is(err, delivery.ErrNotFound) {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
}
