package postgres_test

import (
	"crypto/sha256"
	"testing"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/rows"
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
    seen_clock bigint, absent_since bigint, firing_since bigint, last_notified bigint, key text, notice_id text COLLATE "C",
    group_key text, last_row bytea, row_due bigint);
CREATE TABLE bare_notices (id text COLLATE "C", type text, rule text, status text, created_at bigint, expires_at bigint,
    first_seq bigint, last_seq bigint, body bytea, finding bigint, warehouse text);
CREATE TABLE bare_deliveries (seq bigint, expires_at bigint, lane_id integer, notice_id text COLLATE "C", recipients text)`

const bareKeys = `
ALTER TABLE bare_findings ADD PRIMARY KEY (scope_id, key_hash);
ALTER TABLE bare_notices ADD PRIMARY KEY (id);
ALTER TABLE bare_deliveries ADD PRIMARY KEY (seq)`

// bareCopy makes the tables and returns how to fill them.
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

// rowSet is what one COPY writes.
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
			f.SeenClock.Microseconds(), int64(0), f.FiringSince.UnixMicro(), f.LastNotified.UnixMicro(), f.Key, f.NoticeID,
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
			rows.FindingOf(n.Notice), n.Notice.Warehouse,
		})
		deliveries = append(deliveries, []any{*seq, expires, int32(1), n.Notice.ID, "role:keeper user:1"})
	}
	return []rowSet{
		{"bare_deliveries", []string{"seq", "expires_at", "lane_id", "notice_id", "recipients"}, deliveries},
		{"bare_notices", []string{
			"id", "type", "rule", "status", "created_at", "expires_at", "first_seq", "last_seq", "body", "finding", "warehouse",
		}, notices},
		{"bare_findings", []string{
			"scope_id", "key_hash", "phase", "priority", "ordinal", "episode", "seen_clock", "absent_since", "firing_since",
			"last_notified", "key", "notice_id", "group_key", "last_row", "row_due",
		}, findings},
	}
}

func BenchmarkReads(b *testing.B) {
	ledgertest.BenchmarkReads(b, open(b, migrated(b), ledger.Options{}))
}

func BenchmarkCommitPushes(b *testing.B) {
	ledgertest.BenchmarkCommitPushes(b, open(b, migrated(b), ledger.Options{}))
}
