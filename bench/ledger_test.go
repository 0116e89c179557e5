package bench

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/postgres"
	sink "tallyman/sinks/queue"
)

// countingLedger counts the ends that the ledger has recorded. Without a trace nothing else of the moves reaches it.
type countingLedger struct {
	sink.Ledger
	close func()

	traced bool
	ends   chan int // how many of each transaction
}

func openLedger(t testing.TB, s *servers, traced bool) *countingLedger {
	t.Helper()
	name := "ledger"
	if !traced {
		name = "ledger without trace"
	}
	fresh := s.urls[name] == ""
	url := s.database(name)
	if fresh {
		if _, err := postgres.Migrate(t.Context(), url); err != nil {
			t.Fatal(err)
		}
	}
	if fresh && !traced { // a row per end is left, which is not logged nor indexed and costs next to nothing
		execute(t, url, "DROP INDEX item_moves_seq; ALTER TABLE item_moves SET UNLOGGED")
	}
	execute(t, url, "TRUNCATE items, open_items, ended_early, item_moves")
	l, err := postgres.Open(t.Context(), url, ledger.Options{MaxConnections: 16})
	if err != nil {
		t.Fatal(err)
	}
	return &countingLedger{Ledger: l, close: func() { _ = l.Close() }, traced: traced, ends: make(chan int, 100_000)}
}

// execute runs statements without parameters.
func execute(t testing.TB, url, sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// ApplyMoves implements the queue's Ledger.
func (l *countingLedger) ApplyMoves(ctx context.Context, queue, epoch string, entries []item.Moves) error {
	ends, told := 0, entries
	if !l.traced {
		told = make([]item.Moves, len(entries))
	}
	for i, e := range entries {
		if !l.traced {
			told[i].Position = e.Position
		}
		for _, m := range e.List {
			if !m.To.Ended() {
				continue
			}
			ends++
			if !l.traced {
				told[i].List = append(told[i].List, m)
			}
		}
	}
	if err := l.Ledger.ApplyMoves(ctx, queue, epoch, told); err != nil {
		return err
	}
	l.ends <- ends
	return nil
}

// await waits until so many ends are recorded.
func (l *countingLedger) await(ctx context.Context, n int64) error {
	for n > 0 {
		select {
		case ends := <-l.ends:
			n -= int64(ends)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
