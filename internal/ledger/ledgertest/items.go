package ledgertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

const (
	queue     = "replenishment"
	queueTwin = queue + ledger.TestTwin
)

// newItem is the record of an item that nobody has seen yet.
func newItem(id string) item.Record {
	return item.Record{
		New: item.New{
			ID: id, Priority: 4, Payload: []byte(`{"bin": "A-01"}`), DedupeKey: "A-01 " + id, Created: start, Subject: "rule 119240 " + id,
		},
		Bucket: "u:" + id, Ready: start, By: "rule", Node: "a", State: item.Ready,
	}
}

// delayedItem is one that is ready after an hour.
func delayedItem(id string) item.Record {
	r := newItem(id)
	r.Delay, r.State = time.Hour, item.Delayed
	r.Ready, r.Due = start.Add(r.Delay), start.Add(r.Delay)
	return r
}

// windowItem is one whose dedupe key is held for so long.
func windowItem(id string, window time.Duration) item.Record {
	r := newItem(id)
	r.Bucket, r.Until = "w:"+id, start.Add(window)
	return r
}

// push pushes items that are new and returns them with their numbers.
func (f *fixture) push(t testing.TB, items ...item.Record) []item.Record {
	t.Helper()
	known, err := f.PushItems(t.Context(), queue, items)
	noError(t, err)
	out := slices.Clone(items)
	for i, k := range known {
		if !k.New || k.State != items[i].State || k.Seq == 0 || i > 0 && k.Seq <= known[i-1].Seq {
			t.Fatalf("item %d is known as %+v, the one before as %+v", i, k, known[max(i-1, 0)])
		}
		out[i].Seq = k.Seq
	}
	return out
}

// pushed pushes items of the ids.
func (f *fixture) pushed(t testing.TB, ids ...string) []item.Record {
	t.Helper()
	items := make([]item.Record, len(ids))
	for i, id := range ids {
		items[i] = newItem(id)
	}
	return f.push(t, items...)
}

// begin makes the epoch the recorded one.
func (f *fixture) begin(t testing.TB, prev, epoch string) {
	t.Helper()
	noError(t, f.BeginEpoch(t.Context(), queue, prev, ledger.IndexState{Epoch: epoch}, "a", 0))
}

// move is the n-th move of an item, which changes r as the ledger is to keep it.
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
	case item.Done, item.Removed, item.Refused, item.Assigned:
	}
	m.Attempt, m.Failures, m.Suspends, m.Assignee = r.Attempt, r.Failures, r.Suspends, r.Assignee
	r.State, r.Moves, r.Due = to, n, m.Due
	return m
}

// apply applies one entry of moves at the position, in the first epoch.
func (f *fixture) apply(t testing.TB, position int64, moves ...item.Move) {
	t.Helper()
	noError(t, f.ApplyMoves(t.Context(), queue, "e1", []item.Moves{{Position: position, List: moves}}))
}

// finish leases and finishes items in one entry.
func (f *fixture) finish(t testing.TB, position int64, to item.State, items ...item.Record) []item.Record {
	t.Helper()
	items = slices.Clone(items)
	var moves []item.Move
	for i := range items {
		moves = append(moves, move(&items[i], 1, item.Leased), move(&items[i], 2, to))
	}
	f.apply(t, position, moves...)
	return items
}

// hasUnfinished wants those items, as they stand.
func (f *fixture) hasUnfinished(t testing.TB, want ...item.Record) {
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

// numberedIDs are n ids of items.
func numberedIDs(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%05d", prefix, i)
	}
	return out
}
