package postgres_test

import (
	"errors"
	"fmt"
	"testing"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

// TestBrokenConnectionsOfQueues breaks the connection at every stage of pushes and of what is recorded of them, which the node
// repeats until they are answered. In the end each item has been recorded once, and each move.
func TestBrokenConnectionsOfQueues(t *testing.T) {
	t.Parallel()
	direct := migrated(t)
	line := newLine(t, direct)
	l := open(t, line.url, ledger.Options{MaxConnections: 2})
	line.until(t, func() error {
		err := l.BeginEpoch(t.Context(), "q", "", ledger.IndexState{Epoch: "e1"}, "a", 0)
		if !errors.Is(err, ledger.ErrFenced) {
			return err
		}
		s, err := l.IndexState(t.Context(), "q") // the answer to the one before was lost
		if err == nil && s.Epoch != "e1" {
			t.Fatalf("the epoch is %q", s.Epoch)
		}
		return err
	})

	const rounds, batch = 12, 20
	for n := 1; n <= rounds; n++ {
		items := make([]item.Record, batch)
		for i := range items {
			items[i] = item.Record{New: item.New{ID: fmt.Sprintf("i_%d_%d", n, i), Priority: 3, Created: at(n)}, State: item.Ready}
		}
		var known []item.Known
		line.until(t, func() error {
			var err error
			known, err = l.PushItems(t.Context(), "q", items)
			return err
		})
		moves := item.Moves{Position: int64(n)}
		for i, k := range known {
			moves.List = append(moves.List, item.Move{Seq: k.Seq, N: 1, At: at(n), From: item.Ready, To: item.Leased})
			if i > 0 {
				moves.List = append(moves.List, item.Move{Seq: k.Seq, N: 2, At: at(n), From: item.Leased, To: item.Done})
			}
		}
		line.until(t, func() error { return l.ApplyMoves(t.Context(), "q", "e1", []item.Moves{moves}) })
	}
	t.Logf("%d calls broke", line.broken)
	if line.broken == 0 {
		t.Error("no call broke: the test shows nothing")
	}

	l = open(t, direct, ledger.Options{})
	left, err := l.UnfinishedItems(t.Context(), "q", 0, 1000)
	if err != nil || len(left) != rounds {
		t.Fatalf("%d items are unfinished, %v", len(left), err)
	}
	done, _, err := l.EndedItems(t.Context(), "q", item.Done, nil, 0, 1000)
	if err != nil || len(done) != rounds*(batch-1) {
		t.Fatalf("%d items are done, %v", len(done), err)
	}
	for i := range done {
		_, trace, err := l.ItemTrace(t.Context(), "q", done[i].ID)
		if err != nil || len(trace) != 3 {
			t.Fatalf("%s has %d moves, %v", done[i].ID, len(trace), err)
		}
	}
}
