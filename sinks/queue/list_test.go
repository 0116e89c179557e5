package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

var unendedStates = []item.State{item.Ready, item.Assigned, item.Leased, item.Delayed, item.Suspended, item.Stored, item.Dead}

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
			testenv.Eventually(t, func() bool { ids, _ := n.list(t, state, 10); return len(ids) == len(want) }, 60*time.Second)
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

// Whatever their levels, warehouses and orders: who waits longest comes first, also page by page and while items go.
func TestReadyItemsAreListedByHowLongTheyWait(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(morning)
		n := newNode(t, t.addr, nil, clock.option)
		var want []string
		for i := range 260 {
			items := newItems(1, 1+i%5, fmt.Sprintf("i%03d.", i))
			items[0].Warehouse = fmt.Sprintf("w%d", i%3)
			if i%4 == 0 {
				items[0].Order = item.ServiceOrder{Given: true, Thousandths: int64(1000 - i)}
			}
			want = append(want, n.mustPush(t, items...)...)
			clock.advance(time.Millisecond)
		}
		for _, limit := range []int{1000, 7} {
			var got []string
			for q := (item.Query{State: item.Ready, Order: item.ByWait, Limit: limit}); ; {
				page, err := n.List(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, idsOfItems(page.Items)...)
				if q.After = page.Cursor; q.After == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("by %d: %v", limit, got)
			}
		}
		only, err := n.List(t.Context(), item.Query{State: item.Ready, Order: item.ByWait, Scope: item.Scope{"w1"}, Limit: 3})
		if err != nil || !slices.Equal(idsOfItems(only.Items), []string{want[1], want[4], want[7]}) {
			t.Errorf("%v, %v", idsOfItems(only.Items), err)
		}
		for _, q := range []item.Query{
			{State: item.Ready, Limit: 3, After: only.Cursor},
			{State: item.Leased, Order: item.ByWait, Limit: 3},
		} {
			if _, err := n.List(t.Context(), q); err == nil {
				t.Errorf("%+v was answered", q)
			}
		}
	})
}

func idsOfItems(list []item.Item) []string {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return ids
}

// Known are those who hold leases, those who held some, and those to whom items are assigned.
func TestWorkersOfAQueue(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(morning)
		n := newNode(t, t.addr, newMemoryLedger(), clock.option)
		n.mustPush(t, newItems(4, 3, "a")...)
		leased := n.mustLease(t, "ann", 1)
		n.mustDo(t, item.Op{Kind: item.Ack, ID: leased[0].ID, Attempt: leased[0].Attempt}, item.OK)
		clock.advance(time.Second)
		n.mustLease(t, "bob", 2)
		n.mustDo(t, item.Op{Kind: item.Assign, ID: "a4", Worker: "cleo"}, item.OK)
		testenv.Eventually(t, func() bool {
			got, err := n.Workers(t.Context(), false, nil)
			return err == nil && len(got) == 3 && got[0].Name == "bob" && got[0].Leased == 2 && got[1].Name == "ann" && got[1].Leased == 0 &&
				got[1].Last.Equal(morning) && got[2] == item.Worker{Name: "cleo", Assigned: 1}
		}, 60*time.Second)
	})
}

// An item that is served while pages are read hides no item behind it.
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
		"limit: must be 1 to 1000":                                            {State: item.Ready},
		"state: must be ready, assigned":                                      {State: "waiting", Limit: 1},
		"state: done: items that have ended or are withheld, and dedupe keys": {State: item.Done, Limit: 1},
		"after: is no cursor of a list of items":                              {State: item.Ready, Limit: 1, After: "x"},
		"after: is the cursor of a list of another":                           {State: item.Ready, Limit: 1, After: cursor{at: 1, member: "x"}.encode(item.Dead, "")},
	} {
		var invalid *item.InvalidError
		if _, err := n.List(t.Context(), q); !errors.As(err, &invalid) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// A cursor that was made up finds some items or none, and breaks nothing.
	n.mustPush(t, newItems(3, 3, "a")...)
	for _, c := range []cursor{{level: 1, at: 7, member: "x"}, {level: 3, at: 1 << 52, member: "a1"}, {level: 0, at: 3}} {
		if _, err := n.List(t.Context(), item.Query{State: item.Ready, Limit: 1, After: c.encode(item.Ready, "")}); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestAListOfAssignedItemsInPages(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, nil)
		n.mustPush(t, slices.Concat(newItems(3, 1, "low"), newItems(3, 5, "high"))...)
		for _, op := range []item.Op{
			{ID: "low1", Worker: "b"}, {ID: "high2", Worker: "a"}, {ID: "low3", Worker: "a"}, {ID: "high3", Worker: "b"}, {ID: "high1", Worker: "a"},
		} {
			op.Kind = item.Assign
			n.mustDo(t, op, item.OK)
		}
		want := "high2 high1 low3 high3 low1" // by worker, each in its order of service
		for _, limit := range []int{1, 2, 3, 5} {
			if got, _ := n.list(t, item.Assigned, limit); strings.Join(got, " ") != want {
				t.Errorf("by %d: %v", limit, got)
			}
		}
	})
}

// If the last item of a page has moved, the next page begins with the items of the same time.
func TestAListByTimeGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(morning)
		n := newNode(t, t.addr, nil, clock.option)
		for i := range 6 {
			n.mustPush(t, item.New{ID: fmt.Sprintf("a%d", i), Priority: 3, Payload: []byte("1"), Delay: time.Duration(1+i/2) * time.Hour})
		}
		page, err := n.List(t.Context(), item.Query{State: item.Delayed, Limit: 3})
		if err != nil || len(page.Items) != 3 {
			t.Fatalf("%+v, %v", page, err)
		}
		n.mustDo(t, item.Op{Kind: item.Finish, ID: "a0"}, item.OK)
		n.mustDo(t, item.Op{Kind: item.Finish, ID: "a2"}, item.OK) // the last of the page
		page, err = n.List(t.Context(), item.Query{State: item.Delayed, Limit: 10, After: page.Cursor})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range page.Items {
			got = append(got, i.ID)
		}
		if strings.Join(got, " ") != "a3 a4 a5" {
			t.Errorf("%v", got)
		}
	})
}
