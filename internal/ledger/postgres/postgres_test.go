package postgres_test

import (
	"testing"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/postgres"
	"tallyman/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestLedger(t *testing.T) {
	ledgertest.Run(t, func(t testing.TB) ledgertest.Database {
		url := migrated(t)
		return ledgertest.Database{Open: func(t testing.TB, opts ledger.Options) ledger.Ledger {
			t.Helper()
			// What the suite asks does not depend on the disk; without waiting for it the suite is quick.
			return open(t, url+"&synchronous_commit=off", opts)
		}}
	})
}

// migrated makes a new ledger and returns its URL.
func migrated(t testing.TB) string {
	t.Helper()
	url := testenv.Postgres(t)
	if _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return url
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
