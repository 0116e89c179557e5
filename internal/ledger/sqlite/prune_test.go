package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/sqlite"
)

// Pruning leaves no rows behind that nothing would ever find.
func TestPrunedItemsAreGone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	if _, err := sqlite.Migrate(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	ledgertest.PruneAllItems(t, open(t, path, ledger.Options{}))
	db, err := sql.Open("sqlite", "file:"+path)
	check(t, err)
	defer func() { check(t, db.Close()) }()
	for _, table := range append(ledgertest.ItemTables(), "item_moves") {
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s has %d rows, %v", table, n, err)
		}
	}
}
