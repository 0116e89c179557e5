package bench

import (
	"context"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"tallyman/internal/testenv"
)

// servers are those that all contenders of a benchmark share: one Redis, one PostgreSQL with fsync on.
type servers struct {
	redis    *testenv.RedisServer
	admin    *redis.Client
	postgres *testenv.PGServer
	pid      int               // of the postmaster; 0 = unknown
	urls     map[string]string // of the databases, by what they are for
	opened   int               // queues so far: each has a name of its own
}

const connections = 200 // that a client of Redis may have; more than there are workers and pushers

func newServers(t testing.TB) *servers {
	t.Helper()
	s := &servers{redis: testenv.Redis(t), postgres: testenv.PostgresServer(t), urls: map[string]string{}}
	s.admin = s.redis.Client(t)
	s.pid = s.postmaster(t)
	return s
}

// client connects to Redis as a contender does that brings no settings of its own.
func (s *servers) client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.redis.Addr, PoolSize: connections})
}

// database returns the URL of the database of that name, empty at the first call.
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

// info is a number of Redis' INFO.
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

// postmaster asks a backend for its parent.
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
