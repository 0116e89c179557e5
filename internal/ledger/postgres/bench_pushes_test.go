package postgres_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/notice"
)

// BenchmarkPushes has a million deliveries wait at a push channel, of which 500 more are due each time, and measures claiming those and
// recording that they were sent. It reports how long each took, and by how much the heap grew.
func BenchmarkPushes(b *testing.B) {
	const waiting, batch = 1_000_000, 500
	url := migrated(b)
	now := ledgertest.Now()
	fillPushes(b, url, waiting, now)
	l := open(b, url, ledger.Options{Now: func() time.Time { return now }})
	var claims, settles []time.Duration
	before := heap()
	for b.Loop() {
		now = now.Add(batch * time.Millisecond)
		began := time.Now()
		got, err := l.ClaimPushes(b.Context(), "sms", "a", time.Hour, batch)
		claims = append(claims, time.Since(began))
		if err != nil || len(got.List) != batch {
			b.Fatalf("%d were claimed, %v", len(got.List), err)
		}
		settled := make([]delivery.Settled, batch)
		for i, c := range got.List {
			settled[i] = delivery.Settled{Seq: c.Seq, Token: c.Token, Kind: delivery.SettleSent}
		}
		began = time.Now()
		if err := l.SettlePushes(b.Context(), settled); err != nil {
			b.Fatal(err)
		}
		settles = append(settles, time.Since(began))
	}
	report := func(what string, took []time.Duration) {
		slices.Sort(took)
		b.ReportMetric(took[len(took)/2].Seconds()*1000, what+"-p50-ms")
		b.ReportMetric(took[len(took)*99/100].Seconds()*1000, what+"-p99-ms")
	}
	report("claim", claims)
	report("settle", settles)
	b.ReportMetric(float64(heap()-before)/1024, "heap-growth-KB")
	b.ReportMetric(0, "ns/op")
}

// heap is what is in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// fillPushes makes n deliveries of as many findings, of which one more is due each millisecond.
func fillPushes(b *testing.B, url string, n int, from time.Time) {
	b.Helper()
	one := ledgertest.BenchNotice()
	body, err := notice.Marshal(one)
	if err != nil {
		b.Fatal(err)
	}
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close(b.Context()) }()
	expires := from.Add(100 * 24 * time.Hour).UnixMicro()
	for _, s := range []struct {
		sql  string
		args []any
	}{
		{"INSERT INTO lanes (sink, warehouse) VALUES ('sms', '')", nil},
		{
			`INSERT INTO notices (id, type, rule, status, created_at, expires_at, first_seq, last_seq, body, finding)
			SELECT 'n_' || md5(i::text), 'REP_NOTICE', 'r', 'firing', $2, $3, i, i, $4, i FROM generate_series(1, $1::bigint) AS i`,
			[]any{n, from.UnixMicro(), expires, body},
		},
		{`INSERT INTO deliveries (seq, expires_at, lane_id, notice_id)
			SELECT i, $2, 1, 'n_' || md5(i::text) FROM generate_series(1, $1::bigint) AS i`, []any{n, expires}},
		{`INSERT INTO pushes (seq, due, created, first_due, deadline, ends, finding, addressee, delay, at, within, lane_id, retry, kind, unless)
			SELECT i, $2 + i * 1000, $2, $2 + i * 1000, 0, $3, i, 0, i * 1000, 0, 0, 1, 2, 'delayed', 'read'
			FROM generate_series(1, $1::bigint) AS i`, []any{n, from.UnixMicro(), expires}},
	} {
		if _, err := conn.Exec(b.Context(), s.sql, s.args...); err != nil {
			b.Fatal(err)
		}
	}
	for _, sql := range []string{"VACUUM (ANALYZE)", "CHECKPOINT"} { // what the filling has left to do is not measured
		if _, err := conn.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
}
