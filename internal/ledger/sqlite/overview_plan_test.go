package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestNoticesAreCountedByIndex wants counts answered by the index alone: they are asked for again and again.
func TestNoticesAreCountedByIndex(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	_, err := Migrate(t.Context(), path)
	noError(t, err)
	db, err := openWriter(path)
	noError(t, err)
	defer func() { noError(t, db.Close()) }()
	var id, parent, unused int
	var detail string
	err = db.QueryRowContext(t.Context(), "EXPLAIN QUERY PLAN "+queries.Get("count-notices"), 1, 2, 1).Scan(&id, &parent, &unused, &detail)
	noError(t, err)
	if !strings.Contains(detail, "COVERING INDEX notices_created") {
		t.Error(detail)
	}
}
