package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// anOrder is an order of some operator.
var anOrder = &item.Order{By: "user:ann", Via: "jwt", Action: "queue.step", Object: "queue:" + queueName}

// orderTo is an order of some operator, with the action.
func orderTo(action string) *item.Order {
	o := *anOrder
	o.Action, o.Reason, o.Asked = action, `by mistake: "é" <b> %+`, json.RawMessage(`{"force":true}`)
	return &o
}

// recordsOf waits until the ledger has so many records, and returns them, the first one first.
func recordsOf(t testing.TB, l ledger.Ledger, n int) []string {
	t.Helper()
	var list []ledger.Change
	testenv.Eventually(t, func() bool {
		var err error
		list, _, err = l.Changes(t.Context(), ledger.ChangeFilter{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		return len(list) >= n
	}, 60*time.Second)
	out := make([]string, len(list))
	for i, c := range slices.Backward(list) {
		var after struct {
			Asked json.RawMessage `json:"asked"`
			Done  json.RawMessage `json:"done"`
		}
		if err := json.Unmarshal(c.After, &after); err != nil {
			t.Fatal(err)
		}
		out[len(list)-1-i] = strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s: %s %s", c.By, c.Via, c.Action, c.Object, c.Reason, after.Asked, after.Done))
	}
	return out
}

func TestOrdersAreRecordedWithTheirMoves(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		n := newNode(t, testenv.Redis(t).Addr, l, twoTries)
		n.mustPush(t, newItems(6, 3, "i")...)
		do := func(o *item.Order, ops ...item.Op) { n.mustStep(t, item.Step{By: "ann", Ops: ops, Order: o}) }
		lease := n.mustLease(t, "w", 1)[0]
		do(anOrder, item.Op{Kind: item.Ack, ID: lease.ID, Attempt: lease.Attempt})         // work
		do(anOrder, item.Op{Kind: item.Remove, ID: "none"})                                // nothing was done
		do(nil, item.Op{Kind: item.Remove, ID: "i2"})                                      // nobody's order
		do(orderTo("item.remove"), item.Op{Kind: item.Remove, ID: "i3", Note: "no stock"}) // an order
		mixed := item.Step{Caller: item.Caller{Worker: "w"}, RequestID: "r", By: "ann", Order: anOrder, Ops: []item.Op{
			{Kind: item.Finish, ID: "none"}, {Kind: item.Suspend, ID: "i4"}, {Kind: item.Assign, ID: "i5", Worker: "w2"}, {Kind: item.Finish, ID: "i6"},
		}}
		n.mustStep(t, mixed)
		n.mustStep(t, mixed) // the same request, once more
		if err := n.Pause(t.Context(), false, "ann", anOrder); err != nil {
			t.Fatal(err)
		}
		want := []string{
			`user:ann jwt item.remove queue:replenishment by mistake: "é" <b> %+: {"force":true} [{"op":"remove","id":"i3","note":"no stock"}]`,
			`user:ann jwt queue.step queue:replenishment :  [{"op":"assign","id":"i5","worker":"w2"},{"op":"finish","id":"i6"}]`,
			`user:ann jwt queue.pause queue:replenishment :`,
		}
		got := recordsOf(t, l, 3)
		slices.Sort(got) // the pause is in the ledger at once
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// An order about many items leaves a record for each thousand, and none is larger than a page.
func TestLargeOrdersLeaveBoundedRecords(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		n := newNode(t, testenv.Redis(t).Addr, l)
		for range 3 {
			n.mustPush(t, newItems(1000, 3, "")...)
		}
		o := orderTo("queue.remove")
		o.Reason, o.Count, o.Asked = "", "removed", json.RawMessage(`{"from":1,"to":2500}`)
		if removed, err := n.RemoveRange(t.Context(), item.Bulk{By: "ann", Order: o}, item.Ready, 1, 2500); err != nil || removed != 2500 {
			t.Fatal(removed, err)
		}
		line := func(n int) string {
			return fmt.Sprintf(`user:ann jwt queue.remove queue:replenishment : {"from":1,"to":2500} {"removed":%d}`, n)
		}
		if diff := cmp.Diff([]string{line(1000), line(1000), line(500)}, recordsOf(t, l, 3)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		page, err := n.List(t.Context(), item.Query{State: item.Ready, Limit: 1000})
		if err != nil || len(page.Items) != 500 {
			t.Fatal(len(page.Items), err)
		}
		ops := make([]item.Op, len(page.Items))
		for i, one := range page.Items {
			ops[i] = item.Op{Kind: item.Finish, ID: one.ID, Note: strings.Repeat("x", item.MaxNote)}
		}
		n.mustStep(t, item.Step{By: "ann", Ops: ops, Order: anOrder})
		recordsOf(t, l, 4)
		list, _, err := l.Changes(t.Context(), ledger.ChangeFilter{Limit: 1})
		if err != nil || len(list[0].After) > 64<<10+mostListed*100 || !strings.Contains(string(list[0].After), `"more":400`) {
			t.Errorf("%d bytes, %v", len(list[0].After), err)
		}
	})
}

// cutLedger loses its connection whenever moves are to be applied, before or after it has done so.
type cutLedger struct {
	ledger.Ledger

	cut   atomic.Bool
	after atomic.Bool
	calls atomic.Int64
}

func (l *cutLedger) ApplyMoves(ctx context.Context, queue, epoch string, entries []item.Moves) error {
	l.calls.Add(1)
	if !l.cut.Load() {
		return l.Ledger.ApplyMoves(ctx, queue, epoch, entries)
	}
	if l.after.Load() {
		if err := l.Ledger.ApplyMoves(ctx, queue, epoch, entries); err != nil {
			return err
		}
	}
	return errors.New("the connection broke")
}

// agree checks that the ledger has the removal of an item and its record, or neither.
func agree(t testing.TB, l ledger.Ledger, id string) bool {
	t.Helper()
	// The record is asked for last: it must be there where the removal was.
	r, _, err := l.ItemTrace(t.Context(), queueName, id)
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := l.Changes(t.Context(), ledger.ChangeFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	records := 0
	for _, c := range list {
		if strings.Contains(string(c.After), `"`+id+`"`) {
			records++
		}
	}
	if removed := r.State == item.Removed; removed && records != 1 || records > 1 {
		t.Fatalf("%s is %s and has %d records", id, r.State, records)
	}
	return records == 1
}

func TestAMoveAndItsRecordAreOneWhateverBreaks(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		cut := &cutLedger{Ledger: l}
		r := testenv.Redis(t)
		n := newNode(t, r.Addr, cut)
		n.mustPush(t, newItems(4, 3, "i")...)
		remove := func(n *node, id string) {
			n.mustStep(t, item.Step{By: "ann", Ops: []item.Op{{Kind: item.Remove, ID: id}}, Order: orderTo("item.remove")})
		}
		for i, after := range []bool{false, true} {
			id := fmt.Sprintf("i%d", i+1)
			cut.after.Store(after)
			cut.cut.Store(true)
			remove(n, id)
			before := cut.calls.Load()
			testenv.Eventually(t, func() bool { return cut.calls.Load() > before }, 60*time.Second)
			agree(t, l, id)
			cut.cut.Store(false)
			testenv.Eventually(t, func() bool { return agree(t, l, id) }, 60*time.Second)
		}
		// The node dies when Redis has done it and the ledger knows nothing: another records it.
		cut.after.Store(false)
		cut.cut.Store(true)
		remove(n, "i3")
		n.stop()
		if agree(t, l, "i3") {
			t.Error("it was recorded all the same: the test proves nothing")
		}
		newNode(t, r.Addr, l)
		testenv.Eventually(t, func() bool { return agree(t, l, "i3") }, 60*time.Second)
	})
}

// If Redis loses its data before the ledger has a move, the move is lost together with its record, and the item is
// back.
func TestALossOfRedisLosesMoveAndRecordTogether(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		cut := &cutLedger{Ledger: l}
		r := testenv.Redis(t)
		n := newNode(t, r.Addr, cut)
		n.mustPush(t, newItems(1, 3, "i")...)
		cut.cut.Store(true)
		n.mustStep(t, item.Step{By: "ann", Ops: []item.Op{{Kind: item.Remove, ID: "i1"}}, Order: orderTo("item.remove")})
		r.Kill()
		r.Restart()
		cut.cut.Store(false)
		testenv.Eventually(t, func() bool {
			sizes, err := n.Sizes(t.Context(), false, nil)
			return err == nil && sizes.Ready == 1
		}, 20*time.Second)
		if agree(t, l, "i1") {
			t.Error("there is a record of what was not done")
		}
	})
}

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
