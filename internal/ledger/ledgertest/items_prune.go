package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

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

// ItemTables are those of which PruneAllItems leaves nothing.
func ItemTables() []string { return []string{"items", "open_items", "ended_early", "item_moves"} }

// PruneAllItems pushes items, ends each in another way, and prunes them, by a ledger that has the server's clock.
func PruneAllItems(t testing.TB, l ledger.Ledger) {
	t.Helper()
	f := &fixture{Ledger: l}
	f.begin(t, "", "e1")
	items := f.push(t, newItem("done"), newItem("removed"), newItem("refused"))
	f.finish(t, 1, item.Done, items[0])
	f.finish(t, 2, item.Removed, items[1])
	noError(t, f.RefuseItems(t.Context(), queue, []item.Refusal{{Seq: items[2].Seq, Of: "done", At: start, Node: "a"}}))
	f.prunes(t, start.Add(day), 3)
}

func (f *fixture) prunes(t testing.TB, before time.Time, want int64) {
	t.Helper()
	n, err := f.Prune(t.Context(), before, 5)
	noError(t, err)
	equal(t, want, n)
}

// hasIDs wants the queue to have those items of those that the test has pushed, ended or not.
func (f *fixture) hasIDs(t testing.TB, want ...string) {
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
