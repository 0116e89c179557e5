package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
)

// Pruning leaves no rows behind that nothing would ever find.
func TestPrunedItemsAreGone(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	ledgertest.PruneAllItems(t, open(t, url, ledger.Options{}))
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	for _, table := range ledgertest.ItemTables() {
		var n int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s has %d rows, %v", table, n, err)
		}
	}
}
