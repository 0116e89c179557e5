package sqlite_test

import (
	"flag"
	"path/filepath"
	"testing"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/sqlite"
	"tallyman/internal/testenv"
)

func TestMain(m *testing.M) {
	// Each step of the model is a transaction or two, under -race and in pure Go a slow one. -rapid.checks still wins.
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	testenv.Main(m)
}

func TestLedger(t *testing.T) {
	ledgertest.Run(t, func(t testing.TB) ledgertest.Database {
		t.Helper()
		path := migrated(t)
		return ledgertest.Database{
			OneNode: true,
			Open: func(t testing.TB, opts ledger.Options) ledger.Ledger {
				t.Helper()
				return open(t, path, opts)
			},
		}
	})
}

// migrated makes a new ledger and returns its path.
func migrated(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger 100%?#.db")
	if _, err := sqlite.Migrate(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, path string, opts ledger.Options) *sqlite.Ledger {
	t.Helper()
	l, err := sqlite.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}
