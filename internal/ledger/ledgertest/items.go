package ledgertest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

const (
	queue     = "replenishment"
	queueTwin = queue + ledger.TestTwin
)

// newItem makes the record of a new item.
func newItem(id string) item.Record {
	return item.Record{
		New: item.New{
			ID: id, Priority: 4, Order: item.ServiceOrder{Given: true, Thousandths: 7250}, Payload: []byte(`{"bin": "A-01"}`), DedupeKey: "A-01 " + id, Created: start, Subject: "rule 119240 " + id,
		},
		Bucket: "u:" + id, Ready: start, By: "rule", Node: "a", State: item.Ready,
	}
}

// delayedItem makes an item that is ready after an hour.
func delayedItem(id string) item.Record {
	r := newItem(id)
	r.Delay, r.State = time.Hour, item.Delayed
	r.Ready, r.Due = start.Add(r.Delay), start.Add(r.Delay)
	return r
}

// windowItem makes an item whose dedupe key is held for the window.
func windowItem(id string, window time.Duration) item.Record {
	r := newItem(id)
	r.Bucket, r.Until = "w:"+id, start.Add(window)
	return r
}

// push pushes new items and returns them with their numbers.
func (f *itemChecks) push(t testing.TB, items ...item.Record) []item.Record {
	t.Helper()
	known, err := f.PushItems(t.Context(), queue, items)
	noError(t, err)
	equal(t, len(items), len(known))
	out := slices.Clone(items)
	var before int64
	for i, k := range known {
		if !k.New || k.State != out[i].State || k.Seq <= before {
			t.Fatalf("item %d is known as %+v, the one before has the number %d", i, k, before)
		}
		out[i].Seq, before = k.Seq, k.Seq
	}
	return out
}

// pushed pushes items with the ids.
func (f *itemChecks) pushed(t testing.TB, ids ...string) []item.Record {
	t.Helper()
	items := make([]item.Record, len(ids))
	for i, id := range ids {
		items[i] = newItem(id)
	}
	return f.push(t, items...)
}

// begin records the epoch.
func (f *itemChecks) begin(t testing.TB, prev, epoch string) {
	t.Helper()
	noError(t, f.BeginEpoch(t.Context(), queue, prev, ledger.IndexState{Epoch: epoch}, "a", 0))
}

// move makes the n-th move of an item. move changes r to the state that the ledger must have afterwards.
func move(r *item.Record, n int64, to item.State) item.Move {
	at := start.Add(time.Duration(n) * time.Second)
	m := item.Move{Seq: r.Seq, N: n, At: at, From: r.State, To: to, By: "w-1", Node: "a"}
	switch to {
	case item.Leased:
		r.Attempt++
		m.Due = at.Add(lease)
	case item.Dead, item.Delayed, item.Stored:
		r.Failures++
		m.Due = at.Add(time.Hour)
	case item.Suspended:
		r.Suspends++
		m.Due = at.Add(2 * time.Hour)
	case item.Ready:
		r.Assignee = "w-9"
	case item.Done, item.Removed, item.Refused, item.Assigned, item.WithheldState:
	}
	m.Attempt, m.Failures, m.Suspends, m.Assignee = r.Attempt, r.Failures, r.Suspends, r.Assignee
	r.State, r.Moves, r.Due = to, n, m.Due
	return m
}

// apply applies one entry of moves at the position, in the first epoch.
func (f *itemChecks) apply(t testing.TB, position int64, moves ...item.Move) {
	t.Helper()
	noError(t, f.ApplyMoves(t.Context(), queue, "e1", []item.Moves{{Position: position, List: moves}}))
}

// finish leases and finishes items in one entry.
func (f *itemChecks) finish(t testing.TB, position int64, to item.State, items ...item.Record) []item.Record {
	t.Helper()
	items = slices.Clone(items)
	var moves []item.Move
	for i := range items {
		moves = append(moves, move(&items[i], 1, item.Leased), move(&items[i], 2, to))
	}
	f.apply(t, position, moves...)
	return items
}

// hasUnfinished checks that exactly these items are unfinished, in these states.
func (f *itemChecks) hasUnfinished(t testing.TB, want ...item.Record) {
	t.Helper()
	got, err := f.UnfinishedItems(t.Context(), queue, 0, 1000)
	noError(t, err)
	equal(t, want, got)
}

func itemIDs(list []item.Record) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].ID
	}
	return out
}

// numberedIDs returns n ids of items.
func numberedIDs(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%05d", prefix, i)
	}
	return out
}

var itemPushTests = []testCase{
	{"items are recorded as they are", func(t *testing.T, f *fixture) {
		full := delayedItem("i_2")
		full.Until, full.Moves, full.Attempt, full.Failures, full.Suspends = start.Add(time.Minute), 7<<40, 6<<40, 5, 4
		full.Assignee, full.Subject = "w-1", ""
		bare := item.Record{New: item.New{ID: "i_3", Priority: 1, Created: start}, Ready: start, State: item.Ready}
		items := f.push(t, newItem("i_1"), full, bare)
		f.hasUnfinished(t, items...)
	}},
	{"many items in a call are recorded as few are", func(t *testing.T, f *fixture) {
		const many = 200
		items := make([]item.Record, many)
		for i := range items {
			items[i] = delayedItem(fmt.Sprintf("i_%d", (i*37)%many)) // not in the order of ids
			items[i].Until, items[i].Moves, items[i].Attempt = start.Add(time.Minute), int64(i)<<40, i
			items[i].Failures, items[i].Suspends, items[i].Assignee = i%5, i%3, "w-1"
		}
		f.hasUnfinished(t, f.push(t, items...)...)
		again := append(slices.Clone(items), items[0], newItem("new"), newItem("new"))
		known, err := f.PushItems(t.Context(), queue, again)
		noError(t, err)
		equal(t, item.PushAnswer{Seq: known[0].Seq, State: item.Delayed}, known[many])
		equal(t, []bool{true, false}, []bool{known[many+1].New, known[many+2].New})
		equal(t, known[many+1].Seq, known[many+2].Seq)
	}},
	{"an item that was pushed before is left as it was", func(t *testing.T, f *fixture) {
		first := f.pushed(t, "i_1", "i_2")
		again := newItem("i_1")
		again.Payload = []byte(`"other"`)
		known, err := f.PushItems(t.Context(), queue, []item.Record{newItem("i_3"), again, newItem("i_4")})
		noError(t, err)
		equal(t, item.PushAnswer{Seq: first[0].Seq, State: item.Ready}, known[1])
		equal(t, []bool{true, false, true}, []bool{known[0].New, known[1].New, known[2].New})
		if known[0].Seq <= first[1].Seq || known[2].Seq <= known[0].Seq {
			t.Fatalf("numbers %+v after %d", known, first[1].Seq)
		}
		got, err := f.UnfinishedItems(t.Context(), queue, 0, 10)
		noError(t, err)
		equal(t, []string{"i_1", "i_2", "i_3", "i_4"}, itemIDs(got))
		equal(t, first[0], got[0])
	}},
	{"an item that comes twice in a call is recorded once", func(t *testing.T, f *fixture) {
		known, err := f.PushItems(t.Context(), queue, []item.Record{newItem("i_1"), delayedItem("i_2"), newItem("i_1"), newItem("i_2")})
		noError(t, err)
		equal(t, []bool{true, true, false, false}, []bool{known[0].New, known[1].New, known[2].New, known[3].New})
		equal(t, item.PushAnswer{Seq: known[0].Seq, State: item.Ready}, known[2])
		equal(t, item.PushAnswer{Seq: known[1].Seq, State: item.Delayed}, known[3])
		known, err = f.PushItems(t.Context(), queue, []item.Record{newItem("i_2"), newItem("i_2"), newItem("i_3"), newItem("i_3")})
		noError(t, err)
		equal(t, []bool{false, false, true, false}, []bool{known[0].New, known[1].New, known[2].New, known[3].New})
		equal(t, known[0], known[1])
		equal(t, known[2].Seq, known[3].Seq)
		got, err := f.UnfinishedItems(t.Context(), queue, 0, 10)
		noError(t, err)
		equal(t, []string{"i_1", "i_2", "i_3"}, itemIDs(got))
	}},
	{"a push is told how the items that it meets have ended", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.pushed(t, "done", "removed", "refused", "leased")
		f.finish(t, 1, item.Done, items[0])
		f.finish(t, 2, item.Removed, items[1])
		noError(t, f.RefuseItems(t.Context(), queue, []item.Refusal{{Seq: items[2].Seq, Of: "other", At: start, Node: "a"}}))
		f.apply(t, 3, move(&items[3], 1, item.Leased))
		known, err := f.PushItems(t.Context(), queue, []item.Record{newItem("done"), newItem("removed"), newItem("refused"), newItem("leased")})
		noError(t, err)
		equal(t, []item.PushAnswer{
			{Seq: items[0].Seq, State: item.Done},
			{Seq: items[1].Seq, State: item.Removed},
			{Seq: items[2].Seq, State: item.Refused},
			{Seq: items[3].Seq, State: item.Leased},
		}, known)
	}},
	{"a queue, its twin and other queues know nothing of each other", func(t *testing.T, f *fixture) {
		f.pushed(t, "i_1")
		for _, name := range []string{queueTwin, "other", "never-pushed"} {
			list, err := f.UnfinishedItems(t.Context(), name, 0, 10)
			noError(t, err)
			equal(t, 0, len(list))
			if name == "never-pushed" {
				continue
			}
			known, err := f.PushItems(t.Context(), name, []item.Record{newItem("i_1")})
			noError(t, err)
			equal(t, true, known[0].New)
		}
	}},
	{"no items are no work", func(t *testing.T, f *fixture) {
		known, err := f.PushItems(t.Context(), queue, nil)
		noError(t, err)
		equal(t, 0, len(known))
		noError(t, f.RefuseItems(t.Context(), queue, nil))
		f.hasUnfinished(t)
	}},
	{"what is no text holds nobody up", func(t *testing.T, f *fixture) {
		bad := newItem("i_1")
		bad.DedupeKey, bad.Subject, bad.By = "a\x00b", "\xff\xfe", "w\x00"
		known, err := f.PushItems(t.Context(), queue, []item.Record{bad, newItem("i_2")})
		noError(t, err)
		equal(t, true, known[0].New && known[1].New)
		f.hasSubject(t, "\xff\xfe", "i_1")
		r, _, err := f.ItemTrace(t.Context(), queue, "i_1")
		noError(t, err)
		equal(t, []string{"a\uFFFDb", "w\uFFFD"}, []string{r.DedupeKey, r.By})
	}},
	{"a payload may be as long as items allow", func(t *testing.T, f *fixture) {
		long := newItem("i_1")
		long.Payload = []byte(`"` + strings.Repeat("x", item.MaxPayload-2) + `"`)
		f.push(t, long)
		got, err := f.UnfinishedItems(t.Context(), queue, 0, 10)
		noError(t, err)
		equal(t, true, bytes.Equal(long.Payload, got[0].Payload)) // equal would format the payloads, which is slow
	}},
	{"of pushes of the same items at once, one learns that they are new", func(t *testing.T, f *fixture) {
		const rounds, each = 8, 30
		var mu sync.Mutex
		fresh := map[string]int{}
		seqs := map[string]int64{}
		for round := range rounds {
			ids := numberedIDs("i_"+string(rune('a'+round)), each)
			f.onNodes(t, func(ctx context.Context, l ledger.Ledger, node string) error {
				items := make([]item.Record, each)
				for i, id := range ids {
					items[i] = newItem(id)
				}
				if node == "node1" || node == "node3" { // in reverse order; the nodes must not deadlock
					slices.Reverse(items)
				}
				known, err := l.PushItems(ctx, queue, items)
				mu.Lock()
				defer mu.Unlock()
				for i, k := range known {
					id := items[i].ID
					if k.New {
						fresh[id]++
					}
					if seqs[id] != 0 && seqs[id] != k.Seq {
						t.Errorf("%s is %d and %d", id, seqs[id], k.Seq)
					}
					seqs[id] = k.Seq
				}
				return err
			})
		}
		equal(t, rounds*each, len(fresh))
		for id, n := range fresh {
			if n != 1 {
				t.Fatalf("%s was new %d times", id, n)
			}
		}
		list, err := f.UnfinishedItems(t.Context(), queue, 0, 1000)
		noError(t, err)
		equal(t, rounds*each, len(list))
	}},
}
