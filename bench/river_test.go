package bench

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// The settings with which River was fastest. The trials had 100 to 10,000 workers, and pauses of 1 ms to 20 ms.
const (
	riverWorkers  = 1000
	riverCooldown = 2 * time.Millisecond
)

// viaRiver is River on PostgreSQL with fsync on. It pushes with COPY, and works with its best settings, whatever number
// of workers the cell has. It has four priorities, so the two lowest levels share one. A job counts when its completion
// is recorded.
func viaRiver() contender {
	return contender{
		name:    "river",
		open:    openRiver,
		backlog: func(cell) int { return 20_000 },
		ahead:   func(cell) int { return 10_000 },
	}
}

type riverQueue struct {
	pool    *pgxpool.Pool
	client  *river.Client[pgx.Tx]
	takenFn func([]byte)
	started bool
}

// riverJob is the unchanged payload, without JSON encoding beyond the encoding of the library itself.
type riverJob struct{ json.RawMessage }

func (riverJob) Kind() string { return "bench" }

type riverWorker struct {
	river.WorkerDefaults[riverJob]
	q *riverQueue
}

func (w *riverWorker) Work(_ context.Context, j *river.Job[riverJob]) error {
	w.q.takenFn(j.Args.RawMessage)
	return nil
}

func openRiver(t testing.TB, s *servers) queue {
	t.Helper()
	ctx := t.Context()
	q := &riverQueue{}
	config, err := pgxpool.ParseConfig(s.database("river"))
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 80
	if q.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		t.Fatal(err)
	}
	driver := riverpgxv5.New(q.pool)
	quiet := slog.New(slog.DiscardHandler)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := q.pool.Exec(ctx, "TRUNCATE river_job"); err != nil {
		t.Fatal(err)
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{q: q})
	q.client, err = river.NewClient(driver, &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverWorkers}},
		Workers:           workers,
		FetchCooldown:     riverCooldown,
		FetchPollInterval: 20 * time.Millisecond,
		JobTimeout:        -1,
		Logger:            quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func (q *riverQueue) push(ctx context.Context, list []job) error {
	params := make([]river.InsertManyParams, len(list))
	for i, j := range list {
		// 1 is the highest of four.
		params[i] = river.InsertManyParams{Args: riverJob{j.payload}, InsertOpts: &river.InsertOpts{Priority: min(levels+1-j.priority(), 4)}}
	}
	_, err := q.client.InsertManyFast(ctx, params)
	return err
}

func (q *riverQueue) start(ctx context.Context, _ cell, taken func([]byte), acked func(int)) error {
	q.takenFn = taken
	completed, _ := q.client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: 200_000, // River drops events that do not fit.
		Kinds:    []river.EventKind{river.EventKindJobCompleted},
	})
	go func() { // Stop closes the channel.
		for range completed {
			acked(1)
		}
	}()
	q.started = true
	return q.client.Start(context.WithoutCancel(ctx))
}

func (q *riverQueue) settle(context.Context) error { return nil }

func (q *riverQueue) close() {
	if q.started {
		_ = q.client.StopAndCancel(context.Background())
	}
	q.pool.Close()
}
