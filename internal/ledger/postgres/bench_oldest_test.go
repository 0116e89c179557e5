package postgres_test

import (
	"fmt"
	"testing"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
)

func BenchmarkForget(b *testing.B) {
	ledgertest.BenchmarkForget(b, open(b, migrated(b), ledger.Options{}))
}

// BenchmarkOldestPending has a million pending deliveries: to a push channel, or to the inboxes of a thousand
// warehouses, or half a million of them behind as many sent ones.
func BenchmarkOldestPending(b *testing.B) {
	const waiting = 1_000_000
	for name, fill := range map[string]func(b *testing.B, url string){
		"push":  func(b *testing.B, url string) { b.Helper(); fillPushes(b, url, waiting, ledgertest.Now()) },
		"inbox": func(b *testing.B, url string) { b.Helper(); fillInboxes(b, url, waiting, 1000) },
		"backlog": func(b *testing.B, url string) {
			b.Helper()
			fillInboxes(b, url, waiting, 1)
			execute(b, url, fmt.Sprintf("UPDATE deliveries SET state = 1 WHERE seq <= %d", waiting/2))
			execute(b, url, "VACUUM (ANALYZE) deliveries")
		},
	} {
		b.Run(name, func(b *testing.B) {
			url := migrated(b)
			fill(b, url)
			ledgertest.BenchmarkOldestPending(b, open(b, url, ledger.Options{}), 1)
		})
	}
}

// fillInboxes makes n deliveries to the inboxes of that many warehouses.
func fillInboxes(b *testing.B, url string, n, lanes int) {
	b.Helper()
	for _, sql := range []string{
		fmt.Sprintf("INSERT INTO lanes (sink, warehouse) SELECT 'inbox', i::text FROM generate_series(1, %d) AS i", lanes),
		fmt.Sprintf(`INSERT INTO notices (id, type, rule, status, created_at, expires_at, first_seq, last_seq, body, finding)
			SELECT 'n_' || md5(i::text), 'REP_NOTICE', 'r', 'firing', i, 9000000000000000, i, i, '', i FROM generate_series(1, %d) AS i`, n),
		fmt.Sprintf(`INSERT INTO deliveries (seq, expires_at, lane_id, notice_id)
			SELECT i, 9000000000000000, 1 + i %% %d, 'n_' || md5(i::text) FROM generate_series(1, %d) AS i`, lanes, n),
		"VACUUM (ANALYZE)", "CHECKPOINT",
	} {
		execute(b, url, sql)
	}
}

func BenchmarkLookBack(b *testing.B) {
	ledgertest.BenchmarkLookBack(b, open(b, migrated(b), ledger.Options{}))
}
