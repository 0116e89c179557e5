package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
)

// BenchmarkDropDay prunes a day of a million notices of about 600 bytes, each with a sent delivery. One in a thousand
// has not expired and stays. It reports the time, and the disk space of one notice.
func BenchmarkDropDay(b *testing.B) {
	const notices = 1_000_000
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	body, err := notice.Marshal(ledgertest.BenchNotice())
	check(err)
	now := at(0)
	url := testenv.Postgres(b)
	_, err = Migrate(b.Context(), url)
	check(err)
	l, err := Open(b.Context(), url, ledger.Options{Now: func() time.Time { return now }})
	check(err)
	b.Cleanup(func() { check(l.Close()) })
	conn, err := pgx.Connect(b.Context(), url)
	check(err)
	defer func() { _ = conn.Close(b.Context()) }()
	var took time.Duration
	var bytes float64
	for b.Loop() {
		b.StopTimer()
		_, err := l.Prune(b.Context(), now.AddDate(0, 0, -90), 5)
		check(err)
		day := notice.DayOf(now)
		for _, sql := range []string{
			`INSERT INTO notices (id, type, rule, status, created_at, expires_at, first_seq, last_seq, body, finding, warehouse, priority)
			SELECT $2 || substr(md5(i::text), 1, 23), 'REP_NOTICE', 'r', 'firing', $3 + i, $3 + CASE WHEN i % 1000 = 0 THEN 31536000000000 ELSE 86400000000 END, i, i, $4, i, '119240', 3
			FROM generate_series(1, $1::bigint) AS i`,
			`INSERT INTO deliveries (seq, expires_at, lane_id, notice_id, state, score, ended_at, recipients, attempts)
			SELECT i, $3 + CASE WHEN i % 1000 = 0 THEN 31536000000000 ELSE 86400000000 END, 1, $2 || substr(md5(i::text), 1, 23), 1, $3 + i, $3 + i, 'user:1', length(repeat('', length($4::bytea))) + 1
			FROM generate_series(1, $1::bigint) AS i`,
		} {
			_, err = conn.Exec(b.Context(), sql, notices, day.IDs(), now.UnixMicro(), body)
			check(err)
		}
		for _, sql := range []string{"VACUUM (ANALYZE) notices, deliveries", "CHECKPOINT"} {
			_, err = conn.Exec(b.Context(), sql)
			check(err)
		}
		check(conn.QueryRow(b.Context(), "SELECT pg_total_relation_size($1::regclass) + pg_total_relation_size($2::regclass)",
			partitionOf("notices", day), partitionOf("deliveries_ended", day)).Scan(&bytes))
		now = now.AddDate(0, 0, 93)
		b.StartTimer()
		began := time.Now()
		_, err = l.Prune(b.Context(), now.AddDate(0, 0, -90), 5)
		took += time.Since(began)
		check(err)
	}
	b.ReportMetric(took.Seconds()*1000/float64(b.N), "prune-ms")
	b.ReportMetric(bytes/notices, "bytes/notice")
}
