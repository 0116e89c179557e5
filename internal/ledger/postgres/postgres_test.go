package postgres_test

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/postgres"
	"tallyman/internal/testenv"
)

func TestMain(m *testing.M) {
	ledgertest.Main(func(ctx context.Context, url string, opts ledger.Options) (ledger.Ledger, error) {
		return postgres.Open(ctx, url, opts)
	})
	// Each step of the model is a transaction or two, under -race a slow one. -rapid.checks still wins.
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	testenv.Main(m)
}

// TestLedger gives each test of the suite a schema of its own, which is made faster than a database. What the
// suite asks does not depend on the disk, so that nothing waits for it.
func TestLedger(t *testing.T) {
	server := testenv.Postgres(t) + "&synchronous_commit=off"
	var one sync.Mutex // else the migrations wait for each other in steps of a second
	schemas := 0
	ledgertest.Run(t, func(t testing.TB) ledgertest.Database {
		t.Helper()
		one.Lock()
		defer one.Unlock()
		schemas++
		name := fmt.Sprintf("s%d", schemas)
		execute(t, server, "CREATE SCHEMA "+name)
		url := server + "&search_path=" + name
		migrate(t, url)
		return ledgertest.Database{
			Open: func(t testing.TB, opts ledger.Options) ledger.Ledger {
				t.Helper()
				return open(t, url, opts)
			},
			Refuse: func(t testing.TB, refuse bool) {
				t.Helper()
				ledgertest.RefuseRecords(t, "pgx", url, refuse)
			},
		}
	})
}

// migrated makes a new ledger and returns its URL.
func migrated(t testing.TB) string {
	t.Helper()
	url := testenv.Postgres(t)
	migrate(t, url)
	return url
}

func migrate(t testing.TB, url string) {
	t.Helper()
	if _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, url string, opts ledger.Options) *postgres.Ledger {
	t.Helper()
	l, err := postgres.Open(t.Context(), url, opts)
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

// execute runs one statement.
func execute(t testing.TB, url, sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}
