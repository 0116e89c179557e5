package bench

import (
	"context"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/postgres"
	"tallyman/internal/testenv"
	sink "tallyman/sinks/queue"
)

// servers has the servers that all contenders of a benchmark share: one Redis, and one PostgreSQL with fsync on.
type servers struct {
	redis    *testenv.RedisServer
	admin    *redis.Client
	postgres *testenv.PGServer
	pid      int               // of the postmaster; 0 = unknown
	urls     map[string]string // of the databases, keyed by their purpose
	opened   int               // the number of queues so far, because each queue needs a name of its own
}

const connections = 200 // the most connections of a Redis client: more than a run has workers and pushers

func newServers(t testing.TB) *servers {
	t.Helper()
	s := &servers{redis: testenv.Redis(t), postgres: testenv.PostgresServer(t), urls: map[string]string{}}
	s.admin = s.redis.Client(t)
	s.pid = s.postmaster(t)
	return s
}

// client returns a Redis client for a contender without Redis settings of its own.
func (s *servers) client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.redis.Addr, PoolSize: connections})
}

// database returns the URL of the database for the purpose. The first call makes an empty database.
func (s *servers) database(name string) string {
	if s.urls[name] == "" {
		s.urls[name] = s.postgres.Database()
	}
	return s.urls[name]
}

// clear empties Redis, so that each contender begins alone.
func (s *servers) clear(t testing.TB) {
	t.Helper()
	if err := s.admin.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// info returns a number from INFO of Redis.
func (s *servers) info(ctx context.Context, t testing.TB, section, field string) float64 {
	t.Helper()
	all, err := s.admin.InfoMap(ctx, section).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, fields := range all {
		if text, found := fields[field]; found {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("Redis tells no %s", field)
	return 0
}

// postmaster returns the process id of the postmaster, which is the parent of a backend. Without /proc it is 0.
func (s *servers) postmaster(t testing.TB) int {
	t.Helper()
	ctx := t.Context()
	c, err := pgx.Connect(ctx, s.postgres.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	var backend int
	if err := c.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		t.Fatal(err)
	}
	stat, found := readProcess(backend)
	if !found {
		return 0
	}
	return stat.parent
}

// countingLedger counts the ends of items that the ledger has recorded. Without a trace only these ends reach the
// ledger, and no other moves.
type countingLedger struct {
	sink.Ledger
	close func()

	traced bool
	ends   chan int // the number of ends in each transaction
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
	if fresh && !traced { // Each end still writes a row. Without a log and an index the row costs next to nothing.
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

// await waits until n ends are recorded.
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
