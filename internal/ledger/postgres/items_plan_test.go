package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// TestItemsAreFoundByKey works on a queue with plans of a time at which it was empty, while a hundred thousand items are open: the
// work on an item must not grow with their number.
func TestItemsAreFoundByKey(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	migrate(t, url)
	execute(t, url, "ALTER TABLE open_items SET (autovacuum_enabled = false)") // which would have the plans made anew
	l := open(t, url, ledger.Options{MaxConnections: 1})
	if err := l.BeginEpoch(t.Context(), "q", "", ledger.IndexState{Epoch: "e1"}, "a", 0); err != nil {
		t.Fatal(err)
	}
	const rounds, batch = 10, 10
	for n := 1; n <= rounds; n++ {
		workRound(t, l, n, batch)
	}
	execute(t, url, `INSERT INTO open_items (seq, moves, due, subject_hash, queue_id, attempt, failures, suspends, state, assignee)
		SELECT -n, 0, 0, 0, (SELECT id FROM queues), 0, 0, 0, 'r', '' FROM generate_series(1, 100000) AS n`)
	before := indexBlocks(t, url)
	for n := rounds + 1; n <= 2*rounds; n++ {
		workRound(t, l, n, batch)
	}
	if err := l.Close(); err != nil { // whereupon the server tells what it counted
		t.Fatal(err)
	}
	// Changed, ended, known, asked for, and read: each is a look-up of three blocks. The server tells in steps, so that a part of the
	// first rounds may be in it. A scan of what is open would be some three hundred blocks.
	const lookups = 2 * 8 * 3 * batch * rounds
	testenv.Eventually(t, func() bool { return indexBlocks(t, url) > before+batch*rounds }, 10*time.Second)
	if got := indexBlocks(t, url) - before; got > lookups {
		t.Errorf("%d blocks of the index were read for %d items", got, rounds*batch)
	}
}

// workRound pushes items, changes all, and ends all but one of them. Pushes are repeated, and the last few are read.
func workRound(t *testing.T, l ledger.Ledger, n, batch int) {
	t.Helper()
	items := make([]item.Record, batch)
	for i := range items {
		items[i] = item.Record{New: item.New{ID: fmt.Sprintf("i_%04d_%04d", n, i), Priority: 3, Created: at(n)}, State: item.Ready}
	}
	known, err := l.PushItems(t.Context(), "q", items)
	if err != nil {
		t.Fatal(err)
	}
	var changed, ended []item.Move
	seqs := make([]int64, batch)
	for i, k := range known {
		seqs[i] = k.Seq
		changed = append(changed, item.Move{Seq: k.Seq, N: 1, From: item.Ready, To: item.Leased})
		if i > 0 {
			ended = append(ended, item.Move{Seq: k.Seq, N: 2, From: item.Leased, To: []item.State{item.Done, item.Removed}[i%2]})
		}
	}
	for i, moves := range [][]item.Move{changed, ended} {
		if err := l.ApplyMoves(t.Context(), "q", "e1", []item.Moves{{Position: int64(2*n + i), List: moves}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.PushItems(t.Context(), "q", items); err != nil {
		t.Fatal(err)
	}
	still, err := l.UnfinishedItems(t.Context(), "q", seqs[0]-1, 10)
	if err != nil || len(still) != 1 {
		t.Fatalf("%d are unfinished, %v", len(still), err)
	}
	if _, _, err := l.EndedItems(t.Context(), "q", item.Done, nil, 0, 10); err != nil {
		t.Fatal(err)
	}
}

// indexBlocks is how many blocks of the key of open_items were read.
func indexBlocks(t *testing.T, url string) int64 {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var n int64
	query := "SELECT idx_blks_read + idx_blks_hit FROM pg_statio_user_indexes WHERE indexrelname = 'open_items_pkey'"
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
