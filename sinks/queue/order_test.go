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

// anOrder is somebody's.
var anOrder = &item.Order{By: "user:ann", Via: "jwt", Action: "queue.step", Object: "queue:" + queueName}

// orderTo is somebody's, with the action.
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
	}, 10*time.Second)
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
			testenv.Eventually(t, func() bool { return cut.calls.Load() > before }, 10*time.Second)
			agree(t, l, id)
			cut.cut.Store(false)
			testenv.Eventually(t, func() bool { return agree(t, l, id) }, 10*time.Second)
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
		testenv.Eventually(t, func() bool { return agree(t, l, "i3") }, 10*time.Second)
	})
}

// Where Redis loses its data before the ledger has taken it over, a move is lost together with its record: the item is back.
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
