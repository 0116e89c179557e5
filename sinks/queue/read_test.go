package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/sinks"
	"tallyman/sinks/queue/item"
)

var morning = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

// everyState has items in every state: two that are ready on level 5 and one on level 1, and one of each other state, named
// after it. The clock stands at 9 o'clock then.
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
	n.mustStep(t, item.Step{Worker: "w", Max: 1, Lease: 3 * time.Hour})
	n.mustPush(t, item.New{ID: "delayed", Priority: 4, Payload: []byte(`{}`), Delay: 2 * time.Hour})
	n.mustPush(t, item.New{ID: "assigned", Priority: 4, Payload: []byte(`{}`)})
	n.mustDo(t, item.Op{Kind: item.Assign, ID: "assigned", Worker: "a"}, item.OK)
	for i, priority := range []int{1, 5, 5} {
		clock.advance(20 * time.Minute)
		n.mustPush(t, item.New{ID: fmt.Sprintf("ready%d", i), Priority: priority, Payload: []byte(`{}`)})
	}
}

var unendedStates = []item.State{item.Ready, item.Assigned, item.Leased, item.Delayed, item.Suspended, item.Stored, item.Dead}

// oneFailure makes the first failure of an item its last.
func oneFailure(o *Options) { o.MaxAttempts = 1 }

func TestSizes(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(morning)
		n := newNode(t, t.addr, newMemoryLedger(), clock.option, oneFailure)
		everyState(t, n, clock)
		got, err := n.Sizes(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		want := item.Sizes{
			Ready: 3, Assigned: 1, Leased: 1, Delayed: 1, Suspended: 1, Stored: 1, Dead: 1,
			Levels: []item.Level{
				{Priority: 5, Ready: 2, Oldest: morning.Add(40 * time.Minute)},
				{Priority: 4},
				{Priority: 3},
				{Priority: 2},
				{Priority: 1, Ready: 1, Oldest: morning.Add(20 * time.Minute)},
			},
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%+v\nwant %+v", got, want)
		}
		if err := n.Pause(t.Context(), false, "op"); err != nil {
			t.Fatal(err)
		}
		got, err = n.Sizes(t.Context(), false)
		if p := got.Pause; err != nil || !p.Paused || p.By != "op" || !p.At.Equal(clock.now()) {
			t.Errorf("%+v, %v", p, err)
		}
		twin, err := n.Sizes(t.Context(), true)
		if err != nil || twin.Ready+twin.Leased+twin.Dead != 0 || twin.Pause.Paused || len(twin.Levels) != 5 {
			t.Errorf("the twin: %+v, %v", twin, err)
		}
	})
}

// list reads all pages of a list.
func (n *node) list(t testing.TB, state item.State, limit int) (ids []string, pages int) {
	t.Helper()
	for q := (item.Query{State: state, Limit: limit}); ; {
		page, err := n.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page.Items {
			ids = append(ids, i.ID)
		}
		pages++
		if q.After = page.Cursor; q.After == "" {
			return ids, pages
		}
	}
}

func TestListsOfEveryState(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(morning)
		n := newNode(t, t.addr, newMemoryLedger(), clock.option, oneFailure)
		everyState(t, n, clock)
		for _, state := range append(slices.Clone(unendedStates), item.Removed, item.Done) {
			want := []string{string(state)}
			if state == item.Ready {
				want = []string{"ready1", "ready2", "ready0"}
			}
			testenv.Eventually(t, func() bool { ids, _ := n.list(t, state, 10); return len(ids) == len(want) }, 5*time.Second)
			for _, limit := range []int{1, 2, len(want), 1000} {
				if got, _ := n.list(t, state, limit); !slices.Equal(got, want) {
					t.Errorf("%s by %d: %v", state, limit, got)
				}
			}
		}
		page, err := n.List(t.Context(), item.Query{State: item.Leased, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		got := page.Items[0]
		if got.State != item.Leased || got.Worker != "w" || !got.Due.Equal(morning.Add(3*time.Hour)) || string(got.Payload) != "{}" || got.Seq == 0 {
			t.Errorf("%+v", got)
		}
		if ids, _ := n.list(t, item.Refused, 1); len(ids) > 0 {
			t.Errorf("refused: %v", ids)
		}
	})
}

func TestListsAreInTheOrderOfService(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, nil)
		const each = 130 // more than one read of list.lua
		var want []string
		for priority := item.HighestPriority; priority >= item.LowestPriority; priority-- {
			want = append(want, n.mustPush(t, newItems(each, priority, fmt.Sprintf("p%d.", priority))...)...)
		}
		for _, limit := range []int{7, 130, 1000} {
			got, pages := n.list(t, item.Ready, limit)
			if !slices.Equal(got, want) || pages != (len(want)+limit-1)/limit {
				t.Errorf("by %d: %d in %d pages", limit, len(got), pages)
			}
		}
		var served []string
		for len(served) < len(want) {
			served = append(served, idsOf(n.mustLease(t, "w", 100))...)
		}
		if !slices.Equal(served, want) {
			t.Error("they were served in another order than listed")
		}
		// All leases end at the same moment or nearly so.
		if got, _ := n.list(t, item.Leased, 33); len(got) != len(want) {
			t.Errorf("%d of %d leased", len(got), len(want))
		}
	})
}

// What is served while pages are read is not missed behind it.
func TestAListGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, nil)
		ids := n.mustPush(t, newItems(10, 3, "a")...)
		page, err := n.List(t.Context(), item.Query{State: item.Ready, Limit: 4})
		if err != nil {
			t.Fatal(err)
		}
		n.mustLease(t, "w", 2)
		page, err = n.List(t.Context(), item.Query{State: item.Ready, Limit: 10, After: page.Cursor})
		if err != nil || len(page.Items) != 6 || page.Items[0].ID != ids[4] || page.Cursor != "" {
			t.Errorf("%+v, %v", page, err)
		}
	})
}

// A page is bounded in bytes too.
func TestAPageOfBigItems(t *testing.T) {
	t.Parallel()
	n := newNode(t, testenv.Redis(t).Addr, nil)
	big := []byte(`"` + strings.Repeat("x", item.MaxPayload-2) + `"`)
	var want []string
	for i := range 100 {
		want = append(want, n.mustPush(t, item.New{ID: fmt.Sprintf("a%d", i), Priority: 3, Payload: big})...)
	}
	got, pages := n.list(t, item.Ready, 1000)
	if !slices.Equal(got, want) || pages != 2 {
		t.Errorf("%d in %d pages", len(got), pages)
	}
}

func TestBadQueries(t *testing.T) {
	t.Parallel()
	n := newNode(t, testenv.Miniredis(t).Addr(), nil)
	for want, q := range map[string]item.Query{
		"limit: must be 1 to 1000":                  {State: item.Ready},
		"state: must be ready, assigned":            {State: "waiting", Limit: 1},
		"state: done: items that have ended are in": {State: item.Done, Limit: 1},
		"after: is no cursor of a list of items":    {State: item.Ready, Limit: 1, After: "x"},
		"after: is the cursor of a list of another": {State: item.Ready, Limit: 1, After: cursor{at: 1, id: "x"}.encode(item.Dead)},
	} {
		var invalid *item.InvalidError
		if _, err := n.List(t.Context(), q); !errors.As(err, &invalid) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// A cursor that somebody made up finds something or nothing, and breaks nothing.
	n.mustPush(t, newItems(3, 3, "a")...)
	for _, c := range []cursor{{level: 1, at: 7, id: "x"}, {level: 3, at: 1 << 52, id: "a1"}, {level: 0, at: 3, id: ""}} {
		if _, err := n.List(t.Context(), item.Query{State: item.Ready, Limit: 1, After: c.encode(item.Ready)}); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
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
			got, err := n.Rank(t.Context(), false, id)
			if want := (item.Rank{ID: id, Place: place, Score: score}); err != nil || got != want {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
		}
		at := morning.UnixMilli()
		wantRank("p5.1", 1, at)
		wantRank("p4.2", 5, at+1e13)
		wantRank("p1.3", 15, at+4e13)
		// What w alone gets is served before the others of its level.
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
			if _, err := n.Rank(t.Context(), false, id); !errors.Is(err, sinks.ErrNotFound) {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
}
