package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/testenv"
)

// A retry of an event waits for a transaction that applies moves of the queue. The moves may add an event of the same
// item, which must come later.
func TestARetryOfEventsWaitsForMoves(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	l := open(t, url, ledger.Options{})
	if err := l.BeginEpoch(t.Context(), "q", "", ledger.IndexState{Epoch: "e1"}, "a", 0); err != nil {
		t.Fatal(err)
	}
	known, err := l.PushItems(t.Context(), "q", []item.Record{{New: item.New{ID: "i", Priority: 3, Payload: []byte("1"), Created: at(1)}, State: item.Ready}})
	if err != nil {
		t.Fatal(err)
	}
	done := item.Move{Seq: known[0].Seq, N: 1, At: at(1), From: item.Ready, To: item.Done}
	if err := l.ApplyMoves(t.Context(), "q", "e1", []item.Moves{{Position: 1, List: []item.Move{done}, Events: tellsDone}}); err != nil {
		t.Fatal(err)
	}
	mover, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mover.Close(t.Context()) }()
	if _, err := mover.Exec(t.Context(), "BEGIN; SELECT id FROM queues FOR NO KEY UPDATE"); err != nil {
		t.Fatal(err)
	}
	retried := make(chan error, 1)
	go func() {
		_, _, err := l.RetryDeliveries(t.Context(), ledgertest.Ann, []int64{1})
		retried <- err
	}()
	testenv.Eventually(t, func() bool {
		var waits int
		err := mover.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))").Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
		return waits == 1
	}, 10*time.Second)
	if _, err := mover.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-retried; err != nil {
		t.Error(err)
	}
}
