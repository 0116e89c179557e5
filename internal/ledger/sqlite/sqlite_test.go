package sqlite_test

import (
	"context"
	"database/sql"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/sqlite"
	"tallyman/internal/testenv"
)

func TestMain(m *testing.M) {
	ledgertest.Main(func(ctx context.Context, path string, opts ledger.Options) (ledger.Ledger, error) {
		return sqlite.Open(ctx, path, opts)
	})
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
			Refuse: func(t testing.TB, refuse bool) {
				t.Helper()
				ledgertest.RefuseRecords(t, "sqlite", besideDSN(path), refuse)
			},
			Open: func(t testing.TB, opts ledger.Options) ledger.Ledger {
				t.Helper()
				return open(t, path, opts)
			},
		}
	})
}

// besideDSN is how another program would open the file.
func besideDSN(path string) string {
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path) + "?_pragma=busy_timeout(10000)"
}

// openBeside opens the file as another program would.
func openBeside(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", besideDSN(path))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// empty is the file of a new ledger. The migrations take longer than most tests.
var empty struct {
	once sync.Once
	file []byte
}

// migrated makes a new ledger and returns its path.
func migrated(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger 100%?#.db")
	empty.once.Do(func() {
		first := filepath.Join(t.TempDir(), "first.db")
		if _, err := sqlite.Migrate(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		var err error
		if empty.file, err = os.ReadFile(first); err != nil {
			t.Fatal(err)
		}
	})
	if len(empty.file) == 0 {
		t.Fatal("there is no empty ledger")
	}
	if err := os.WriteFile(path, empty.file, 0o600); err != nil {
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
