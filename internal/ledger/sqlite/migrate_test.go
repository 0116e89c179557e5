package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"tallyman/docs/codetest"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/schema"
)

// A ledger of before the first step of this program is refused, whatever is done with it, and stays as it is.
func TestOutdatedLedgerIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	db, err := openWriter(path)
	noError(t, err)
	for _, statement := range []string{
		"CREATE TABLE " + schema.Table + " (id INTEGER PRIMARY KEY, version_id INTEGER, is_applied INTEGER, tstamp TIMESTAMP DEFAULT (datetime('now')))",
		"INSERT INTO " + schema.Table + " (version_id, is_applied) VALUES (0, 1), (13, 1), (14, 1)",
	} {
		_, err := db.ExecContext(t.Context(), statement)
		noError(t, err)
	}
	noError(t, db.Close())
	for what, do := range map[string]func(context.Context) error{
		"migrate":   func(ctx context.Context) error { _, err := Migrate(ctx, path); return err },
		"status":    func(ctx context.Context) error { _, err := Status(ctx, path); return err },
		"open":      func(ctx context.Context) error { _, err := Open(ctx, path, ledger.Options{}); return err },
		"read only": func(ctx context.Context) error { _, err := OpenReadOnly(ctx, path, ledger.Options{}); return err },
	} {
		err := do(t.Context())
		if !errors.Is(err, ledger.ErrOutdated) {
			t.Fatalf("%s: got %v, want ErrOutdated", what, err)
		}
		codetest.Outcome(t, "../../../docs/error-codes.md", "The ledger", "ledger_outdated", err.Error()+"\n")
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
