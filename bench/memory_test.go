package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
)

const memoryJobs = 50_000

// BenchmarkMemory measures what a waiting job takes, its 300 bytes of payload among it: of Redis' memory, and of PostgreSQL's disk.
func BenchmarkMemory(b *testing.B) {
	s := newServers(b)
	list := []contender{lists(), asynqOne(), asynqUnique(), viaRiver(), tallyman(), tallymanKeyed(), withLedger()}
	type size struct{ redis, postgres float64 }
	sizes := map[string]size{}
	for b.Loop() {
		for _, k := range list {
			measure(b, s, k, cell{batch: 1, workers: 1}, func(ctx context.Context, r *run) sample {
				redis, postgres := s.info(ctx, b, "memory", "used_memory"), s.diskOf(ctx, b)
				r.load(ctx, memoryJobs)
				n := float64(r.pushed.Load())
				sizes[k.name] = size{(s.info(ctx, b, "memory", "used_memory") - redis) / n, (s.diskOf(ctx, b) - postgres) / n}
				return sample{}
			})
		}
	}
	b.ReportMetric(0, "ns/op")
	t := newTable(fmt.Sprintf("bytes per waiting job with a payload of %d", payloadSize), "", "Redis", "PostgreSQL")
	for _, k := range list {
		t.row(k.name, thousands(sizes[k.name].redis), thousands(sizes[k.name].postgres))
		b.ReportMetric(sizes[k.name].redis, "B:"+unit(k.name))
	}
	t.print()
}

// diskOf is the size of all databases in use.
func (s *servers) diskOf(ctx context.Context, t testing.TB) float64 {
	t.Helper()
	sum := 0.0
	for _, url := range s.urls {
		c, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		var bytes float64
		err = c.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&bytes)
		_ = c.Close(ctx)
		if err != nil {
			t.Fatal(err)
		}
		sum += bytes
	}
	return sum
}
