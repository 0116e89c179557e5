package postgres_test

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/notice"
)

// BenchmarkCommit compares with pgx's CopyFrom of the same three row sets in one transaction, into tables without
// any index ("bare") and into tables with their primary keys ("keyed").
func BenchmarkCommit(b *testing.B) {
	for _, c := range []struct {
		name           string
		keys, markSent bool
	}{
		{"bare", false, false}, {"keyed", true, false}, {"sent/bare", false, true}, {"sent/keyed", true, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			url := migrated(b)
			ledgertest.BenchmarkCommit(b, open(b, url, ledger.Options{}), bareCopy(b, url, c.keys), c.markSent)
		})
	}
}

const bareTables = `
CREATE TABLE bare_findings (scope_id integer, key_hash uuid, phase smallint, priority smallint, ordinal integer, episode bigint,
    since_clock bigint, absent_since bigint, firing_since bigint, last_notified bigint, key text, notice_id text COLLATE "C",
    group_key text, last_row bytea, row_due bigint);
CREATE TABLE bare_notices (id text COLLATE "C", type text, rule text, status text, created_at bigint, expires_at bigint,
    first_seq bigint, last_seq bigint, body bytea, finding bigint, warehouse text);
CREATE TABLE bare_deliveries (seq bigint, expires_at bigint, lane_id integer, notice_id text COLLATE "C", recipients text)`

const bareKeys = `
ALTER TABLE bare_findings ADD PRIMARY KEY (scope_id, key_hash);
ALTER TABLE bare_notices ADD PRIMARY KEY (id);
ALTER TABLE bare_deliveries ADD PRIMARY KEY (seq)`

// bareCopy makes the tables and returns a function that fills them.
func bareCopy(b *testing.B, url string, keys bool) ledgertest.Bare {
	b.Helper()
	execute(b, url, bareTables)
	if keys {
		execute(b, url, bareKeys)
	}
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close(b.Context()) })
	seq := int64(0)
	return func(b *testing.B, batch *ledger.Commit) func() {
		b.Helper()
		sets := bareRows(b, batch, &seq)
		return func() {
			err := pgx.BeginFunc(b.Context(), conn, func(tx pgx.Tx) error {
				for _, s := range sets {
					if _, err := tx.CopyFrom(b.Context(), pgx.Identifier{s.table}, s.columns, pgx.CopyFromRows(s.rows)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// rowSet is the rows of one COPY.
type rowSet struct {
	table   string
	columns []string
	rows    [][]any
}

// bareRows makes the rows that the ledger would write for the commit.
func bareRows(b *testing.B, batch *ledger.Commit, seq *int64) []rowSet {
	b.Helper()
	var findings, notices, deliveries [][]any
	for i := range batch.Findings {
		f := &batch.Findings[i]
		sum := sha256.Sum256([]byte(f.Key))
		findings = append(findings, []any{
			int32(1), [16]byte(sum[:16]), int16(f.Phase), int16(f.Priority), int32(f.Ordinal), f.Episode.UnixMicro(),
			f.SinceClock.Microseconds(), int64(0), f.FiringSince.UnixMicro(), f.LastNotified.UnixMicro(), f.Key, f.NoticeID,
			f.Group, f.Row, batch.Run.Due.UnixMicro(),
		})
	}
	for _, n := range batch.Notices {
		body, err := notice.Marshal(n.Notice)
		if err != nil {
			b.Fatal(err)
		}
		*seq++
		created, expires := n.Notice.CreatedAt.UnixMicro(), n.Notice.ExpiresAt.UnixMicro()
		notices = append(notices, []any{
			n.Notice.ID, n.Notice.Type, n.Notice.Rule, string(n.Notice.Status), created, expires, *seq, *seq, body,
			codec.FindingOf(n.Notice), n.Notice.Warehouse,
		})
		deliveries = append(deliveries, []any{*seq, expires, int32(1), n.Notice.ID, "role:keeper user:1"})
	}
	return []rowSet{
		{"bare_deliveries", []string{"seq", "expires_at", "lane_id", "notice_id", "recipients"}, deliveries},
		{"bare_notices", []string{
			"id", "type", "rule", "status", "created_at", "expires_at", "first_seq", "last_seq", "body", "finding", "warehouse",
		}, notices},
		{"bare_findings", []string{
			"scope_id", "key_hash", "phase", "priority", "ordinal", "episode", "since_clock", "absent_since", "firing_since",
			"last_notified", "key", "notice_id", "group_key", "last_row", "row_due",
		}, findings},
	}
}

func BenchmarkReads(b *testing.B) {
	ledgertest.BenchmarkReads(b, open(b, migrated(b), ledger.Options{}))
}

// BenchmarkCommitPushes also shows the cost of the index that finds the oldest pending delivery of a push channel.
func BenchmarkCommitPushes(b *testing.B) {
	for _, name := range []string{"all indexes", "without pushes_first"} {
		b.Run(name, func(b *testing.B) {
			url := migrated(b)
			if name != "all indexes" {
				execute(b, url, "DROP INDEX pushes_first")
			}
			ledgertest.BenchmarkCommitPushes(b, open(b, url, ledger.Options{}))
		})
	}
}

// BenchmarkItems compares with pgx's CopyFrom of the items and of their moves, one transaction each, into tables
// without any index.
func BenchmarkItems(b *testing.B) {
	for _, load := range ledgertest.ItemLoads() {
		b.Run(load.String(), func(b *testing.B) {
			url := migrated(b)
			l := open(b, url, ledger.Options{MaxConnections: load.Queues})
			ledgertest.BenchmarkItems(b, l, bareItems(b, url, load.Queues), load)
		})
	}
}

func BenchmarkItemReads(b *testing.B) {
	ledgertest.BenchmarkItemReads(b, open(b, migrated(b), ledger.Options{}))
}

const bareItemTables = `
CREATE TABLE bare_items (seq bigint, created_at bigint, ready_at bigint, until_at bigint, queue_id integer, priority smallint,
    id text COLLATE "C", bucket text, dedupe_key text, subject text, pushed_by text, node text, payload bytea);
CREATE TABLE bare_moves (seq bigint, at bigint, moves text)`

func bareItems(b *testing.B, url string, workers int) ledgertest.BareItems {
	b.Helper()
	execute(b, url, bareItemTables)
	conns := make([]*pgx.Conn, workers)
	for i := range conns {
		conn, err := pgx.Connect(b.Context(), url)
		if err != nil {
			b.Fatal(err)
		}
		conns[i] = conn
		b.Cleanup(func() { _ = conn.Close(b.Context()) })
	}
	itemColumns := []string{
		"seq", "created_at", "ready_at", "until_at", "queue_id", "priority", "id", "bucket", "dedupe_key", "subject", "pushed_by", "node",
		"payload",
	}
	return func(b *testing.B, worker int, items []item.Record, moves item.Moves) {
		b.Helper()
		var pushed, moved [][]any
		for i := range items {
			r := codec.NewItem(&items[i], int64(i))
			pushed = append(pushed, []any{
				r.Seq, r.Created, r.Ready, r.Until, int32(1), r.Priority, r.ID, r.Bucket, r.Key, r.Subject, r.By, r.Node, r.Payload,
			})
		}
		for _, t := range codec.NewApply([]item.Moves{moves}, 0).Traces {
			moved = append(moved, []any{t.Seq, t.At, string(t.Moves)})
		}
		copyInto(b, conns[worker], "bare_items", itemColumns, pushed)
		copyInto(b, conns[worker], "bare_moves", []string{"seq", "at", "moves"}, moved)
	}
}

func copyInto(b *testing.B, conn *pgx.Conn, table string, columns []string, set [][]any) {
	b.Helper()
	if _, err := conn.CopyFrom(b.Context(), pgx.Identifier{table}, columns, pgx.CopyFromRows(set)); err != nil {
		b.Error(err)
	}
}

// BenchmarkPushes has a million deliveries waiting for a push channel, of which 500 more become due each time. It
// measures claiming these and recording them as sent. It reports both times, and the growth of the heap.
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
		settled := make([]delivery.Settlement, batch)
		for i, c := range got.List {
			settled[i] = delivery.Settlement{Seq: c.Seq, Token: c.Token, Kind: delivery.SettleSent, Attempt: delivery.Attempt{Took: 20 * time.Millisecond, Status: 200}}
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

// heap returns the heap in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// fillPushes makes n deliveries of as many findings. One more becomes due each millisecond.
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
		{`INSERT INTO pushes (seq, due, first_due, deadline, ends, finding, addressee, delay, at, within, lane_id, retry, kind, unless)
			SELECT i, $2 + i * 1000, $2 + i * 1000, 0, $3, i, 0, i * 1000, 0, 0, 1, 2, 'delayed', 'read'
			FROM generate_series(1, $1::bigint) AS i`, []any{n, from.UnixMicro(), expires}},
	} {
		if _, err := conn.Exec(b.Context(), s.sql, s.args...); err != nil {
			b.Fatal(err)
		}
	}
	// The work that the filling has left is not measured.
	for _, sql := range []string{"VACUUM (ANALYZE)", "CHECKPOINT"} {
		if _, err := conn.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSearch searches a million notices of about 600 bytes, a hundred for each time. Some rules, types and
// warehouses are busy, and some have long been quiet.
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

// BenchmarkSends measures requests of business systems, and marks of readers.
func BenchmarkSends(b *testing.B) {
	ledgertest.BenchmarkSends(b, open(b, migrated(b), ledger.Options{}))
}
