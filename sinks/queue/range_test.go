package queue

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

func TestRemoveRange(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		n.mustPush(t, slices.Concat(newItems(3, 5, "high"), newItems(4, 3, "mid"), newItems(3, 1, "low"))...)
		remove := func(state item.State, from, to int64, want int) {
			t.Helper()
			if got, err := n.RemoveRange(t.Context(), item.Bulk{Test: false, Scope: nil, By: "op"}, state, from, to); err != nil || got != want {
				t.Errorf("%s %d to %d: %d, %v; want %d", state, from, to, got, err, want)
			}
		}
		remove(item.Ready, 3, 5, 3)
		if ids, _ := n.list(t, item.Ready, 100); strings.Join(ids, " ") != "high1 high2 mid3 mid4 low1 low2 low3" {
			t.Errorf("%v are left", ids)
		}
		n.mustLease(t, "w", 1) // what was at place 1 is leased, and at no place any more
		remove(item.Ready, 1, 1, 1)
		remove(item.Ready, 5, 1<<40, 1)
		remove(item.Ready, 5, 9, 0)
		remove(item.Stored, 1<<62, 1<<63-1, 0)
		remove(item.Dead, 1<<53-1, 1<<63-1, 0)
		if ids, _ := n.list(t, item.Ready, 100); strings.Join(ids, " ") != "mid3 mid4 low1 low2" {
			t.Errorf("%v are left", ids)
		}
		for _, id := range []string{"mid3", "low1"} {
			n.mustDo(t, item.Op{Kind: item.Assign, ID: id, Worker: "a"}, item.OK)
		}
		remove(item.Assigned, 2, 2, 1)
		n.mustDo(t, item.Op{Kind: item.Suspend, ID: "mid3"}, item.OK)
		n.mustDo(t, item.Op{Kind: item.Suspend, ID: "mid4"}, item.OK)
		remove(item.Suspended, 1, 100, 2)
		if s, err := n.Sizes(t.Context(), false, nil); err != nil || s.Ready != 1 || s.Leased != 1 || s.Assigned+s.Suspended != 0 {
			t.Errorf("%+v, %v", s, err)
		}
		got, err := n.Get(t.Context(), false, nil, "mid4")
		if err != nil || got.Item.State != item.Removed || got.Trace[len(got.Trace)-1].By != "op" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestRemoveRangeOfMany(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, nil)
		for range 3 {
			n.mustPush(t, newItems(900, 3, "")...)
		}
		if got, err := n.RemoveRange(t.Context(), item.Bulk{Test: false, Scope: nil, By: "op"}, item.Ready, 101, 2600); err != nil || got != 2500 {
			t.Errorf("%d, %v", got, err)
		}
		if ids, _ := n.list(t, item.Ready, 1000); len(ids) != 200 {
			t.Errorf("%d are left", len(ids))
		}
	})
}

func TestBadRanges(t *testing.T) {
	t.Parallel()
	n := newNode(t, testenv.Miniredis(t).Addr(), nil)
	for _, c := range []struct {
		state    item.State
		from, to int64
		field    string
	}{
		{item.Leased, 1, 2, "state"}, {item.Done, 1, 2, "state"}, {"", 1, 2, "state"}, {item.Ready, 0, 2, "from"}, {item.Ready, 3, 2, "to"},
	} {
		var invalid *item.InvalidError
		if _, err := n.RemoveRange(t.Context(), item.Bulk{Test: false, Scope: nil, By: "op"}, c.state, c.from, c.to); !errors.As(err, &invalid) || invalid.Field != c.field {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestRequeueDead(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger(), oneFailure)
		const many = 2500
		for range many / 500 {
			n.mustPush(t, newItems(500, 3, "")...)
			ops := []item.Op{}
			for _, l := range n.mustLease(t, "w", 500) {
				ops = append(ops, item.Op{Kind: item.Nack, ID: l.ID, Attempt: l.Attempt})
			}
			n.mustStep(t, item.Step{Caller: item.Caller{Worker: "w"}, Ops: ops})
		}
		first, _ := n.list(t, item.Dead, 1000)
		got, err := n.RequeueDead(t.Context(), item.Bulk{Test: false, By: "op"})
		if err != nil || got != many || len(first) != many {
			t.Errorf("%d of %d, %v", got, len(first), err)
		}
		s, err := n.Sizes(t.Context(), false, nil)
		if err != nil || s.Dead != 0 || s.Ready != many {
			t.Errorf("%+v, %v", s, err)
		}
		if ready, _ := n.list(t, item.Ready, 1000); !slices.Equal(ready, first) {
			t.Error("they are not in the order in which they died")
		}
		if got, err := n.RequeueDead(t.Context(), item.Bulk{Test: false, By: "op"}); err != nil || got != 0 {
			t.Errorf("%d again, %v", got, err)
		}
	})
}
