package postgres_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/postgres"
	"tallyman/internal/testenv"
)

// TestDiskIsFull fills the disk of a real database. The database refuses tries as it refuses commits, and takes them
// as soon as there is room.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	disk, url := testenv.PostgresServer(t).SmallDisk(t, "64m")
	if _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	l := open(t, url, ledger.Options{})
	ballast := testenv.Fill(t, disk)
	var err error
	n := 1
	for ; n < 1000 && err == nil; n++ { // pages with free room take some rows
		err = commitOnce(t.Context(), l, n)
	}
	if r, refused := l.Refusal(err); !refused || r.Reason != ledger.RefusedDiskFull || !strings.Contains(r.String(), "No space left on device") {
		t.Fatalf("%v is the refusal %s", err, r)
	}
	for range 3 {
		err = l.TryCommit(t.Context())
		if r, refused := l.Refusal(err); !refused || r.Reason != ledger.RefusedDiskFull {
			t.Errorf("%v is the refusal %s", err, r)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.TryCommit(t.Context()), commitOnce(t.Context(), l, n)); err != nil {
		t.Errorf("with room: %v", err)
	}
}

// commitOnce commits the n-th run of a rule.
func commitOnce(ctx context.Context, l *postgres.Ledger, n int) error {
	if _, err := l.Register(ctx, "r", "", 0, at(0)); err != nil {
		return err
	}
	c, err := l.Claim(ctx, "r", "", 0, at(n), "a", 0)
	if err != nil {
		return err
	}
	_, err = l.Commit(ctx, c, commitOf(c, n, 0))
	return err
}
