package queue

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
	"tallyman/internal/text"
)

// askAgain is an item that is asked for again by a request.
func askAgain(id, request string) item.New {
	return item.New{ID: id, Priority: 4, Payload: []byte(`{"life":"` + request + `"}`), Again: true, Request: request, DedupeKey: "key of " + id}
}

// pushes wants the outcome of a push of one item.
func (n *node) pushes(t testing.TB, one item.New, want item.PushOutcome) {
	t.Helper()
	results, err := n.Push(t.Context(), false, "tester", []item.New{one})
	if err != nil || results[0].Outcome != want {
		t.Fatalf("%s came out as %+v, %v, not %s", one.ID, results, err, want)
	}
}

func TestAnItemBeginsAnotherLife(t *testing.T) {
	t.Parallel()
	for _, window := range []Window{{}, {Day: true}, {For: time.Hour}} {
		t.Run(window.String(), func(t *testing.T) {
			t.Parallel()
			onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
				t.Helper()
				n := newNode(t, testenv.Redis(t).Addr, l, func(o *Options) { o.Dedupe, o.MaxAttempts = window, 2 })
				n.pushes(t, askAgain("WO-1", "r1"), item.Pushed)
				n.pushes(t, askAgain("WO-1", "r2"), item.Exists) // it has not ended
				lease := n.mustLease(t, "w", 1)[0]
				n.mustDo(t, item.Op{Kind: item.Nack, ID: "WO-1", Attempt: lease.Attempt}, item.OK)
				lease = n.mustLease(t, "w", 1)[0]
				n.mustDo(t, item.Op{Kind: item.Ack, ID: "WO-1", Attempt: lease.Attempt}, item.OK)
				n.pushes(t, askAgain("WO-1", "r1"), item.Exists) // a repeat
				n.pushes(t, item.New{ID: "WO-1", Payload: []byte(`1`)}, item.Exists)
				n.pushes(t, askAgain("WO-1", "r2"), item.Pushed)
				n.pushes(t, askAgain("WO-1", "r2"), item.Exists)

				got, err := n.Get(t.Context(), false, nil, "WO-1")
				if err != nil || got.Item.State != item.Ready || got.Item.Failures != 0 || string(got.Item.Payload) != `{"life":"r2"}` {
					t.Fatal(got, err)
				}
				n.mustDo(t, item.Op{Kind: item.Ack, ID: "WO-1", Attempt: lease.Attempt}, item.LeaseLost) // of the life before
				n.lose(t)
				lease = n.mustLease(t, "w", 1)[0]
				if lease.Attempt < 3 {
					t.Errorf("the attempts begin anew: %d", lease.Attempt)
				}
				n.mustDo(t, item.Op{Kind: item.Ack, ID: "WO-1", Attempt: lease.Attempt}, item.OK)
				for _, request := range []string{"r1", "r2"} {
					n.pushes(t, askAgain("WO-1", request), item.Exists)
				}
				n.pushes(t, askAgain("WO-1", ""), item.Pushed) // whoever names no request is taken at the word
				n.mustDo(t, item.Op{Kind: item.Remove, ID: "WO-1"}, item.OK)
				n.pushes(t, askAgain("WO-1", "r3"), item.Pushed)

				got, err = n.Get(t.Context(), false, nil, "WO-1")
				if err != nil {
					t.Fatal(err)
				}
				var lives, notes []string
				for i, m := range got.Trace {
					if m.From == "" || m.From.Ended() {
						lives, notes = append(lives, string(m.From)+"→"+string(m.To)), append(notes, m.Note)
					}
					if i > 0 && m.N <= got.Trace[i-1].N {
						t.Errorf("move %d follows %d", m.N, got.Trace[i-1].N)
					}
				}
				inOrder(t, "lives", lives, "→ready", "done→ready", "done→ready", "removed→ready")
				inOrder(t, "requests", notes, "request r1", "request r2", "", "request r3")
			})
		})
	}
}

// A work order is asked for again the moment it was done: the ledger does not know the end yet.
func TestAgainWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		n := newNode(t, testenv.Redis(t).Addr, l)
		n.pushes(t, item.New{ID: "a", Payload: []byte(`1`)}, item.Pushed)
		for range 20 {
			lease := n.mustLease(t, "w", 1)[0]
			n.mustDo(t, item.Op{Kind: item.Ack, ID: "a", Attempt: lease.Attempt}, item.OK)
			n.pushes(t, askAgain("a", ""), item.Pushed)
		}
	})
}

// Of many who ask at once for an item that has ended one begins its life.
func TestOneOfManyBeginsTheLife(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		addr := testenv.Redis(t).Addr
		nodes := []*node{newNode(t, addr, l), newNode(t, addr, l)}
		var ids []string
		for _, i := range newItems(20, 3, "i") {
			nodes[0].mustPush(t, i)
			nodes[0].mustDo(t, item.Op{Kind: item.Finish, ID: i.ID}, item.OK)
			ids = append(ids, i.ID)
		}
		const callers = 8
		answers := make(chan []item.PushResult, callers)
		for c := range callers {
			items := make([]item.New, len(ids))
			for i, id := range ids {
				items[i] = item.New{ID: id, Payload: []byte(`2`), Again: true}
			}
			if c%2 == 1 {
				slices.Reverse(items)
			}
			go func() {
				results, err := nodes[c%2].Push(t.Context(), false, "tester", items)
				if err != nil {
					t.Error(err)
				}
				answers <- results
			}()
		}
		pushed := map[string]int{}
		for range callers {
			for _, r := range <-answers {
				if r.Outcome == item.Pushed {
					pushed[r.ID]++
				} else if r.Outcome != item.Exists {
					t.Errorf("%+v", r)
				}
			}
		}
		for _, id := range ids {
			if pushed[id] != 1 {
				t.Errorf("%s was pushed %d times", id, pushed[id])
			}
		}
		if leases := nodes[1].mustLease(t, "w", 100); len(leases) != len(ids) {
			t.Errorf("%d items, want %d", len(leases), len(ids))
		}
	})
}

func TestAgainNeedsAnID(t *testing.T) {
	t.Parallel()
	n := newNode(t, testenv.Redis(t).Addr, newMemoryLedger())
	for field, one := range map[string]item.New{
		"again":   {Payload: []byte(`1`), Again: true},
		"request": {ID: "a", Payload: []byte(`1`), Again: true, Request: strings.Repeat("x", text.MaxKey+1)},
	} {
		_, err := n.Push(t.Context(), false, "tester", []item.New{one})
		if wrong, ok := errors.AsType[*item.InvalidError](err); !ok || wrong.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
