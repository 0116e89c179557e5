package queue

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
)

// repeats is the n-th notice of the bin's finding, with a priority, an order and a title of its own.
func repeats(bin string, n, priority int, order string) *notice.Notice {
	one := fires(bin, 0, n)
	one.CreatedAt = one.CreatedAt.Add(time.Duration(n) * time.Minute)
	one.Priority, one.Order, one.Title = priority, order, fmt.Sprintf("%s for the time %d", bin, n)
	return one
}

// says is an item in short: its place in the order of service, what its payload says, and its news.
func (n *node) says(t testing.TB, id string) string {
	t.Helper()
	got, err := n.Get(t.Context(), false, nil, id)
	if err != nil {
		t.Fatal(err)
	}
	var payload struct{ Title string }
	if err := json.Unmarshal(got.Item.Payload, &payload); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%s %d/%s %s", got.Item.State, got.Item.Priority, got.Item.Order, payload.Title)
	if got.Item.News {
		text += ", news"
	}
	return text
}

// lose has Redis forget everything, and waits until the index is back.
func (n *node) lose(t testing.TB) {
	t.Helper()
	before, _ := n.keeper.Current()
	if err := n.client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() bool {
		_, err := n.Sizes(t.Context(), false, nil)
		now, _ := n.keeper.Current()
		return err == nil && now != nil && now != before
	}, 20*time.Second)
}

func TestAWaitingItemFollowsItsFinding(t *testing.T) {
	t.Parallel()
	states := map[item.State][]item.Op{
		item.Ready: nil, item.Suspended: {{Kind: item.Suspend}}, item.Stored: {{Kind: item.Store, Delay: time.Hour}},
		item.Assigned: {{Kind: item.Assign, Worker: "w9"}}, item.Delayed: {{Kind: item.Nack, Delay: time.Hour}}, item.Dead: {{Kind: item.Nack}, {Kind: item.Nack}},
	}
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		n := newNode(t, testenv.Redis(t).Addr, l, func(o *Options) { o.MaxAttempts = 2 })
		for state, ops := range states {
			bin := string(state)
			first := repeats(bin, 0, 3, "")
			n.mustTake(t, first)
			for _, op := range ops {
				op.ID = first.ID
				if op.Kind == item.Nack {
					op.Attempt = n.mustLease(t, "w", 1)[0].Attempt
				}
				n.mustDo(t, op, item.OK)
			}
			was := n.says(t, first.ID)
			large := repeats(bin, 1, 5, "7.5")
			large.Body = strings.Repeat("x", 2*largePayload)
			for range 2 { // what is delivered twice changes nothing the second time
				n.mustTake(t, first, large)
			}
			stands, _, _ := strings.Cut(was, " ")
			want := stands + " 5/7.5 " + large.Title
			if got := n.says(t, first.ID); was != stands+" 3/ "+first.Title || got != want {
				t.Errorf("%s: %q became %q, want %q", state, was, got, want)
			}
			n.mustTake(t, repeats(bin, 2, 5, "7.5")) // a small payload in place of a large one
			got, err := n.Get(t.Context(), false, nil, first.ID)
			if err != nil {
				t.Fatal(err)
			}
			last := got.Trace[len(got.Trace)-1]
			if last.From != last.To || last.By != "rule:empty-bin" || last.Note != "notice "+repeats(bin, 2, 5, "").ID || last.Revision == nil || last.Revision.Priority != 5 {
				t.Errorf("%s: the last move is %+v", state, last)
			}
			if moves := len(got.Trace) - 1 - len(ops); state == item.Ready && moves != 2 {
				t.Errorf("%s: %d moves: %s", state, moves, told(got.Trace))
			}
			n.mustDo(t, item.Op{Kind: item.Assign, ID: first.ID, Worker: "nobody"}, map[bool]item.Outcome{true: item.IsDead, false: item.OK}[state == item.Dead])
		}
		n.lose(t)
		for state := range states {
			if got, want := n.says(t, repeats(string(state), 0, 3, "").ID), " 5/7.5 "+repeats(string(state), 2, 5, "").Title; !strings.HasSuffix(got, want) {
				t.Errorf("%s: after Redis was lost it is %q, want %q", state, got, want)
			}
		}
	})
}

func TestALeasedItemHasNews(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		n := newNode(t, testenv.Redis(t).Addr, l)
		ends := map[string]func(id string, attempt int) string{
			"released": func(id string, attempt int) string {
				n.mustDo(t, item.Op{Kind: item.Release, ID: id, Attempt: attempt}, item.OK)
				return "ready"
			},
			"suspended": func(id string, attempt int) string {
				n.mustDo(t, item.Op{Kind: item.Suspend, ID: id, Attempt: attempt}, item.OK)
				return "suspended"
			},
			"lost": func(string, int) string {
				n.lose(t)
				return "ready"
			},
		}
		for name, end := range ends {
			first, second, third := repeats(name, 0, 3, "4"), repeats(name, 1, 1, ""), repeats(name, 2, 2, "")
			n.mustTake(t, first)
			lease := n.mustLease(t, "w", 1)[0]
			n.mustDo(t, item.Op{Kind: item.Set, ID: first.ID, Set: &item.Setting{Priority: 5}}, item.IsLeased)
			n.mustTake(t, second, third)
			if got, want := n.says(t, first.ID), "leased 3/4 "+first.Title+", news"; got != want || string(lease.Payload) == "" {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
			want := end(first.ID, lease.Attempt) + " 2/ " + third.Title
			if got := n.says(t, first.ID); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
			n.lose(t)
			if got := n.says(t, first.ID); got != want {
				t.Errorf("%s, and Redis was lost: %q, want %q", name, got, want)
			}
			n.mustDo(t, item.Op{Kind: item.Remove, ID: first.ID}, item.OK)
		}

		// The record of a finished item stays as its worker saw it.
		first := repeats("done", 0, 3, "")
		n.mustTake(t, first)
		lease := n.mustLease(t, "w", 1)[0]
		n.mustTake(t, repeats("done", 1, 5, ""))
		n.mustDo(t, item.Op{Kind: item.Ack, ID: first.ID, Attempt: lease.Attempt}, item.OK)
		if got, want := n.says(t, first.ID), "done 3/ "+first.Title; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestWhatAnOperatorSetsStays(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		n := newNode(t, testenv.Redis(t).Addr, l)
		first, other := repeats("A", 0, 3, ""), repeats("B", 0, 4, "")
		n.mustTake(t, first, other)
		order := item.ServiceOrder{Given: true, Thousandths: 1000}
		step := item.Step{By: "ann", Order: orderTo("item.set"), Ops: []item.Op{
			{Kind: item.Set, ID: first.ID, Note: "a lorry waits", Set: &item.Setting{Priority: 4, Order: &order}},
		}}
		n.mustStep(t, step)
		inOrder(t, "ready", n.ready(t), first.ID, other.ID)
		for _, repeated := range []*notice.Notice{repeats("A", 1, 3, ""), repeats("A", 2, 3, "")} {
			n.mustTake(t, repeated)
			if got, want := n.says(t, first.ID), "ready 4/1 "+repeated.Title; got != want {
				t.Errorf("the finding asks for nothing new: %q, want %q", got, want)
			}
		}
		n.mustTake(t, repeats("A", 3, 5, ""))
		if got, want := n.says(t, first.ID), "ready 5/1 "+repeats("A", 3, 5, "").Title; got != want {
			t.Errorf("the finding asks for another priority: %q, want %q", got, want)
		}
		inOrder(t, "records", recordsOf(t, l, 1),
			`user:ann jwt item.set queue:replenishment by mistake: "é" <b> %+: {"force":true} [{"op":"set","id":"`+first.ID+`","priority":4,"order":"1","note":"a lorry waits"}]`)
	})
}

// A node may die between the refusal of a notice and the update of its item: the notice is delivered again.
func TestAnUpdateThatDiedIsMadeAgain(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		n := newNode(t, testenv.Redis(t).Addr, l)
		first, second := repeats("A", 0, 3, ""), repeats("A", 1, 5, "")
		n.mustTake(t, first)
		refused, err := newItem(second, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		results, err := n.Push(t.Context(), false, "rule:empty-bin", []item.New{refused})
		if err != nil || results[0].Outcome != item.Duplicate || results[0].Of != first.ID {
			t.Fatal(results, err)
		}
		if got, want := n.says(t, first.ID), "ready 3/ "+first.Title; got != want {
			t.Errorf("who pushes by hand updates nothing: %q, want %q", got, want)
		}
		n.mustTake(t, second)
		if got, want := n.says(t, first.ID), "ready 5/ "+second.Title; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestItemsMayKeepWhatTheyHave(t *testing.T) {
	t.Parallel()
	onAll(t, func(s site) {
		n := newNode(t, s.addr, newMemoryLedger(), func(o *Options) { o.OnRepeat = RepeatKeeps })
		first := repeats("A", 0, 3, "")
		n.mustTake(t, first, repeats("A", 1, 5, ""))
		if got, want := n.says(t, first.ID), "ready 3/ "+first.Title; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
