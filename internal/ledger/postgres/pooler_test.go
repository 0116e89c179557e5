package postgres_test

import (
	"context"
	"errors"
	"testing"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/postgres"
	"tallyman/internal/testenv"
)

// TestPgBouncerInSessionMode checks that everything works there, also for several processes that migrate at the same
// time.
func TestPgBouncerInSessionMode(t *testing.T) {
	t.Parallel()
	url := testenv.PgBouncer(t, testenv.Postgres(t), "session")
	errs := make(chan error)
	for range 2 {
		go func() {
			_, err := postgres.Migrate(t.Context(), url)
			errs <- err
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	l := open(t, url, ledger.Options{})
	prepare(t, l)
	const firings, perFiring = 3, 10
	for n := 1; n <= firings; n++ {
		c, err := l.Claim(t.Context(), "r", "", 0, at(n), "a", 0)
		if err != nil {
			t.Fatal(err)
		}
		if done, err := l.Commit(t.Context(), c, commitOf(c, n, perFiring)); err != nil || done.Deliveries != perFiring {
			t.Fatalf("firing %d was answered with %+v, %v", n, done, err)
		}
	}
}

// TestPgBouncerInTransactionMode checks that every way of opening the ledger refuses, and says what to do.
func TestPgBouncerInTransactionMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"transaction", "statement"} {
		url := testenv.PgBouncer(t, migrated(t), mode)
		for what, do := range map[string]func(context.Context) error{
			"migrate": func(ctx context.Context) error { _, err := postgres.Migrate(ctx, url); return err },
			"status":  func(ctx context.Context) error { _, err := postgres.Status(ctx, url); return err },
			"open":    func(ctx context.Context) error { _, err := postgres.Open(ctx, url, ledger.Options{}); return err },
			"read only": func(ctx context.Context) error {
				_, err := postgres.OpenReadOnly(ctx, url, ledger.Options{})
				return err
			},
		} {
			if err := do(t.Context()); !errors.Is(err, ledger.ErrPooled) {
				t.Errorf("%s in %s mode: %v", what, mode, err)
			}
		}
	}
}
