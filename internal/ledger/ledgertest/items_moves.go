package ledgertest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

var itemMoveTests = []testCase{
	{"items stand as their last moves say", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.pushed(t, "i_1", "i_2", "i_3", "i_4", "i_5")
		items[0].Attempt = 1 << 40 // as after many losses of Redis
		first := item.Moves{Position: 1, List: []item.Move{move(&items[0], 1, item.Leased), move(&items[1], 1, item.Leased)}}
		second := item.Moves{Position: 2, List: []item.Move{
			move(&items[2], 1, item.Leased), move(&items[0], 2, item.Suspended), move(&items[3], 1, item.Ready),
		}}
		noError(t, f.ApplyMoves(t.Context(), queue, "e1", []item.Moves{first, second}))
		f.hasUnfinished(t, items...)
		f.apply(t, 3, move(&items[1], 2, item.Done), move(&items[2], 2, item.Dead), move(&items[3], 2, item.Removed))
		f.hasUnfinished(t, items[0], items[2], items[4])
	}},
	{"an entry that was applied changes nothing", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.pushed(t, "i_1", "i_2")
		one := item.Moves{Position: 1, List: []item.Move{move(&items[0], 1, item.Leased)}}
		two := item.Moves{Position: 2, List: []item.Move{move(&items[0], 2, item.Ready)}}
		three := item.Moves{Position: 3, List: []item.Move{move(&items[1], 1, item.Leased)}}
		for _, entries := range [][]item.Moves{{one}, {one, two}, {one, two}, {two}, {one, two, three}, {three}} {
			noError(t, f.ApplyMoves(t.Context(), queue, "e1", entries))
		}
		f.hasPosition(t, queue, "e1", 3)
		f.hasUnfinished(t, items...)
		for i, want := range []int{3, 2} {
			_, trace, err := f.ItemTrace(t.Context(), queue, items[i].ID)
			noError(t, err)
			equal(t, want, len(trace))
		}
	}},
	{"positions may be left out and entries may be empty", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.pushed(t, "i_1")
		f.apply(t, 4)
		f.hasPosition(t, queue, "e1", 4)
		f.apply(t, 9, move(&items[0], 1, item.Leased))
		f.hasPosition(t, queue, "e1", 9)
		noError(t, f.ApplyMoves(t.Context(), queue, "e1", nil))
		f.hasPosition(t, queue, "e1", 9)
		f.hasUnfinished(t, items...)
	}},
	{"moves of another epoch are refused", func(t *testing.T, f *fixture) {
		items := f.pushed(t, "i_1")
		before := slices.Clone(items)
		moves := []item.Moves{{Position: 1, List: []item.Move{move(&items[0], 1, item.Done)}}}
		isError(t, ledger.ErrFenced, f.ApplyMoves(t.Context(), queue, "e1", moves))
		f.begin(t, "", "e1")
		isError(t, ledger.ErrFenced, f.ApplyMoves(t.Context(), queue, "e0", moves))
		isError(t, ledger.ErrFenced, f.ApplyMoves(t.Context(), queue, "", moves))
		f.begin(t, "e1", "e2")
		isError(t, ledger.ErrFenced, f.ApplyMoves(t.Context(), queue, "e1", moves))
		f.hasUnfinished(t, before...)
		f.hasPosition(t, queue, "e1", 0)
		noError(t, f.ApplyMoves(t.Context(), queue, "e2", moves))
		f.hasUnfinished(t)
	}},
	{"positions begin anew with an epoch", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.pushed(t, "i_1", "i_2")
		f.apply(t, 7, move(&items[0], 1, item.Leased))
		f.begin(t, "e1", "e2")
		f.hasPosition(t, queue, "e2", 0)
		noError(t, f.ApplyMoves(t.Context(), queue, "e2", []item.Moves{{Position: 1, List: []item.Move{move(&items[1], 1, item.Leased)}}}))
		f.hasPosition(t, queue, "e2", 1)
		f.hasPosition(t, queue, "e1", 0)
		f.hasUnfinished(t, items...)
	}},
	{"a twin has the epochs of its queue and positions of its own", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		f.apply(t, 5)
		f.hasPosition(t, queueTwin, "e1", 0)
		noError(t, f.ApplyMoves(t.Context(), queueTwin, "e1", []item.Moves{{Position: 2}}))
		f.hasPosition(t, queueTwin, "e1", 2)
		f.hasPosition(t, queue, "e1", 5)
		f.begin(t, "e1", "e2")
		isError(t, ledger.ErrFenced, f.ApplyMoves(t.Context(), queueTwin, "e1", []item.Moves{{Position: 3}}))
	}},
	{"a move that is not later changes nothing but the trace", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		late := newItem("i_1")
		late.Moves = 1000
		items := f.push(t, late, newItem("i_2"))
		was := items[0]
		f.apply(t, 1, move(&was, 1, item.Leased))
		f.apply(t, 2, move(&was, 1000, item.Done))
		f.apply(t, 3, move(&was, 2, item.Removed))
		f.hasUnfinished(t, items...)
		now := items[0]
		f.apply(t, 4, move(&now, 1001, item.Leased))
		f.hasUnfinished(t, now, items[1])
		_, trace, err := f.ItemTrace(t.Context(), queue, "i_1")
		noError(t, err)
		equal(t, []int64{0, 1, 2, 1000, 1001}, moveNumbers(trace))
	}},
	{"a refused item has ended, with the item that held its key in its trace", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.push(t, newItem("i_1"), delayedItem("i_2"), newItem("i_3"), newItem("i_4"))
		f.finish(t, 1, item.Done, items[3])
		refused := []item.Refusal{
			{Seq: items[0].Seq, Of: "i_0", At: start.Add(time.Second), Node: "b"},
			{Seq: items[1].Seq, Of: "i_0", At: start, Node: "b"},
			{Seq: items[3].Seq, Of: "i_0", At: start, Node: "b"},
			{Seq: 1 << 40, Of: "i_0", At: start, Node: "b"},
		}
		noError(t, f.RefuseItems(t.Context(), queue, refused))
		noError(t, f.RefuseItems(t.Context(), queue, refused))
		f.hasUnfinished(t, items[2])
		r, trace, err := f.ItemTrace(t.Context(), queue, "i_1")
		noError(t, err)
		equal(t, item.Refused, r.State)
		equal(t, []item.Move{
			{Seq: items[0].Seq, At: start, To: item.Ready, By: "rule", Node: "a"},
			{Seq: items[0].Seq, N: 1, At: start.Add(time.Second), From: item.Ready, To: item.Refused, Node: "b", Note: "i_0"},
		}, trace)
		r, trace, err = f.ItemTrace(t.Context(), queue, "i_4")
		noError(t, err)
		equal(t, item.Done, r.State)
		equal(t, 3, len(trace))
	}},
	{"entries that many apply at once are applied once, in order", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		const count = 40
		items := f.pushed(t, numberedIDs("i_", count)...)
		var entries []item.Moves
		for i := range items {
			entries = append(entries, item.Moves{
				Position: int64(i + 1), List: []item.Move{move(&items[i], 1, item.Leased), move(&items[i], 2, item.Suspended)},
			})
		}
		f.onNodes(t, func(ctx context.Context, l ledger.Ledger, _ string) error {
			for {
				at, err := l.AppliedMoves(ctx, queue, "e1")
				if err != nil || at == count {
					return err
				}
				if err := l.ApplyMoves(ctx, queue, "e1", entries[max(0, at-2):min(count, at+5)]); err != nil {
					return err
				}
			}
		})
		f.hasPosition(t, queue, "e1", count)
		f.hasUnfinished(t, items...)
		for i := range items {
			_, trace, err := f.ItemTrace(t.Context(), queue, items[i].ID)
			noError(t, err)
			equal(t, []int64{0, 1, 2}, moveNumbers(trace))
		}
	}},
	{"after a new epoch, no move of the previous one is applied", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		const count = 60
		items := f.pushed(t, numberedIDs("i_", count)...)
		b := f.other(t)
		var seen []item.Record
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range items {
				done := item.Moves{Position: int64(i + 1), List: []item.Move{move(&items[i], 1, item.Done)}}
				if f.ApplyMoves(t.Context(), queue, "e1", []item.Moves{done}) != nil {
					return
				}
			}
		})
		wg.Go(func() {
			err := b.BeginEpoch(t.Context(), queue, "e1", ledger.IndexState{Epoch: "e2"}, "b", lease)
			if err == nil {
				seen, err = b.UnfinishedItems(t.Context(), queue, 0, 1000)
			}
			if err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		after, err := f.UnfinishedItems(t.Context(), queue, 0, 1000)
		noError(t, err)
		equal(t, itemIDs(seen), itemIDs(after))
	}},
}

func (f *itemChecks) hasPosition(t testing.TB, queue, epoch string, want int64) {
	t.Helper()
	got, err := f.AppliedMoves(t.Context(), queue, epoch)
	noError(t, err)
	equal(t, want, got)
}

func moveNumbers(trace []item.Move) []int64 {
	out := make([]int64, len(trace))
	for i := range trace {
		out[i] = trace[i].N
	}
	return out
}

const day = 24 * time.Hour

var itemPruneTests = []testCase{
	{"items are pruned when they have ended long ago and hold no key", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.push(t, newItem("open"), newItem("done"), windowItem("key", 60*day), newItem("removed"), newItem("late"), newItem("refused"))
		f.finish(t, 1, item.Done, items[1], items[2])
		f.finish(t, 2, item.Removed, items[3])
		late := items[4]
		m := move(&late, 1, item.Done)
		m.At = start.Add(40 * day)
		f.apply(t, 3, m)
		noError(t, f.RefuseItems(t.Context(), queue, []item.Refusal{{Seq: items[5].Seq, Of: "open", At: start, Node: "a"}}))
		f.clock.Add(50 * day)
		f.prunes(t, start, 0)
		f.prunes(t, start.Add(30*day), 3)
		f.hasIDs(t, "open", "key", "late")
		f.prunes(t, start.Add(45*day), 1)
		f.hasIDs(t, "open", "key")
		f.clock.Add(10*day - time.Microsecond)
		f.prunes(t, start.Add(45*day), 0)
		f.clock.Add(time.Microsecond)
		f.prunes(t, start.Add(45*day), 1)
		f.hasIDs(t, "open")
		f.hasUnfinished(t, items[0])
		f.hasEnded(t, item.Removed, 0, 10)
		known, err := f.PushItems(t.Context(), queue, []item.Record{newItem("removed")})
		noError(t, err)
		equal(t, true, known[0].New)
		_, trace, err := f.ItemTrace(t.Context(), queue, "removed")
		noError(t, err)
		equal(t, 1, len(trace))
	}},
	{"more items than a batch are pruned in one call, past those that stay", func(t *testing.T, f *fixture) {
		const n = 2100
		f.begin(t, "", "e1")
		items := f.pushed(t, numberedIDs("i_", n)...)
		f.finish(t, 1, item.Done, items[1:n-1]...)
		known, err := f.PushItems(t.Context(), queueTwin, []item.Record{newItem("i_1")})
		noError(t, err)
		noError(t, f.ApplyMoves(t.Context(), queueTwin, "e1", []item.Moves{{Position: 1, List: []item.Move{
			{Seq: known[0].Seq, N: 1, At: start, From: item.Ready, To: item.Done},
		}}}))
		f.clock.Add(2 * day)
		f.prunes(t, start.Add(day), n-1)
		f.hasIDs(t, "i_00000", items[n-1].ID)
	}},
}

// ItemTables returns the tables that PruneAllItems empties in every engine. The table of moves is not among them: an
// engine may remove moves later, all moves of a day at once.
func ItemTables() []string { return []string{"items", "open_items", "ended_early"} }

// PruneAllItems pushes items, ends each item in a different way, and prunes them. The ledger uses the server's clock.
func PruneAllItems(t testing.TB, l ledger.Ledger) {
	t.Helper()
	f := (&base{Ledger: l}).fixture()
	f.begin(t, "", "e1")
	items := f.push(t, newItem("done"), newItem("removed"), newItem("refused"))
	f.finish(t, 1, item.Done, items[0])
	f.finish(t, 2, item.Removed, items[1])
	noError(t, f.RefuseItems(t.Context(), queue, []item.Refusal{{Seq: items[2].Seq, Of: "done", At: start, Node: "a"}}))
	f.prunes(t, start.Add(day), 3)
}

func (f *itemChecks) prunes(t testing.TB, before time.Time, want int64) {
	t.Helper()
	n, err := f.Prune(t.Context(), before, 5)
	noError(t, err)
	equal(t, want, n)
}

// hasIDs checks that, of the items that the test pushed, the queue has exactly these, ended or not.
func (f *itemChecks) hasIDs(t testing.TB, want ...string) {
	t.Helper()
	open, err := f.UnfinishedItems(t.Context(), queue, 0, 1000)
	noError(t, err)
	ids := map[string]bool{}
	for _, state := range []item.State{item.Done, item.Removed, item.Refused} {
		ended, _, err := f.EndedItems(t.Context(), queue, state, nil, 0, 1000)
		noError(t, err)
		open = append(open, ended...)
	}
	for _, id := range itemIDs(open) {
		ids[id] = true
		_, _, err := f.ItemTrace(t.Context(), queue, id)
		noError(t, err)
	}
	equal(t, len(want), len(ids))
	for _, id := range want {
		if !ids[id] {
			t.Fatalf("%s is gone", id)
		}
	}
	_, _, err = f.ItemTrace(t.Context(), queue, "done")
	if !ids["done"] {
		isError(t, ledger.ErrNotFound, err)
	}
}
