package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// BenchmarkSearch searches among a million notices of about 600 bytes, a hundred of each time: rules, types and warehouses of which some are
// busy and some have been quiet for long.
func BenchmarkSearch(b *testing.B) {
	const notices = 1_000_000
	url := migrated(b)
	l := open(b, url, ledger.Options{})
	prepare(b, l)
	n := &notice.Notice{
		ID: "n_1", Type: "T1", Rule: "rule-1", Scope: "119240", Warehouse: "W1", Key: `[119240,"A-01","S1"]`, Status: notice.Firing, Priority: 3,
		Title: "Bin A-01 is at -3", Body: strings.Repeat("Replenish the bin from the bulk area. ", 10), Data: []notice.Field{{Name: "bin", Value: "A-01"}},
		Count: 1, CreatedAt: at(0), ExpiresAt: at(1),
	}
	body, err := notice.Marshal(n)
	if err != nil {
		b.Fatal(err)
	}
	n.Rule, n.Warehouse, n.Type = "old-rule", "old", "OLD"
	old, err := notice.Marshal(n)
	if err != nil {
		b.Fatal(err)
	}
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close(b.Context()) }()
	first := time.Now().Add(-30 * 24 * time.Hour).UnixMicro()
	_, err = conn.Exec(b.Context(), `INSERT INTO notices (id, type, rule, status, created_at, expires_at, first_seq, last_seq, body, finding, warehouse, priority)
		SELECT 'n_' || md5(i::text), CASE WHEN i < 1000 THEN 'OLD' ELSE 'T' || i % 20 END,
		       CASE WHEN i < 1000 THEN 'old-rule' WHEN i % 2 = 0 THEN 'rule-1' ELSE 'rule-' || i % 2000 END,
		       CASE WHEN i % 3 = 0 THEN 'resolved' ELSE 'firing' END, $1 + i / 100 * 259200000::bigint, 9e15::bigint, i, i, CASE WHEN i < 1000 THEN $3::bytea ELSE $2::bytea END, i % 50000,
		       CASE WHEN i < 1000 THEN 'old' ELSE 'W' || i % 50 END, 3
		FROM generate_series(1, $4::integer) AS i`, first, body, old, notices)
	if err != nil {
		b.Fatal(err)
	}
	if _, err = conn.Exec(b.Context(), "VACUUM ANALYZE notices"); err != nil {
		b.Fatal(err)
	}
	scope := "119240"
	for _, c := range []struct {
		name   string
		filter ledger.NoticeFilter
	}{
		{"nothing", ledger.NoticeFilter{}},
		{"warehouse", ledger.NoticeFilter{Warehouses: []string{"W1"}}},
		{"warehouse that is quiet", ledger.NoticeFilter{Warehouses: []string{"old"}}},
		{"type", ledger.NoticeFilter{Types: []string{"T1"}}},
		{"type that is quiet", ledger.NoticeFilter{Types: []string{"OLD"}}},
		{"rule that is busy", ledger.NoticeFilter{Rule: "rule-1"}},
		{"rule that is quiet", ledger.NoticeFilter{Rule: "old-rule"}},
		{"finding", ledger.NoticeFilter{Rule: "rule-1", Scope: &scope, Finding: "[1]"}},
		{"status", ledger.NoticeFilter{Statuses: []notice.Status{notice.Resolved}}},
		{"status that there is not", ledger.NoticeFilter{Statuses: []notice.Status{notice.Sent}}},
		{"part of a key", ledger.NoticeFilter{Key: "A-01"}},
		{"part of a key that there is not", ledger.NoticeFilter{Key: "Z-99"}},
		{"priority", ledger.NoticeFilter{Priority: 3}},
		{"priority that there is not", ledger.NoticeFilter{Priority: 5}},
		{"time", ledger.NoticeFilter{From: time.UnixMicro(first + 1e12), To: time.UnixMicro(first + 2e12)}},
		{"hundredth page", ledger.NoticeFilter{Before: ledger.NoticePlace{At: time.UnixMicro(first + 259200000*9950), N: 1, ID: "n"}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.filter.Limit = 50
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				if _, err := l.SearchNotices(b.Context(), c.filter); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			for _, p := range []int{50, 99} {
				b.ReportMetric(float64(took[len(took)*p/100].Microseconds())/1000, fmt.Sprintf("ms-p%d", p))
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
