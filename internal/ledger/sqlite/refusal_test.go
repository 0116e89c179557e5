package sqlite

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tallyman/internal/ledger"
)

// A file that may not grow refuses commits and tries, and takes both as soon as there is room. Reads go on.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	_, err := Migrate(t.Context(), path)
	noError(t, err)
	l, err := Open(t.Context(), path, ledger.Options{})
	noError(t, err)
	t.Cleanup(func() { noError(t, l.Close()) })
	limit := func(pages string) {
		t.Helper()
		_, err := l.write.ExecContext(t.Context(), "PRAGMA max_page_count = "+pages)
		noError(t, err)
	}
	limit("1") // no more pages than now
	_, err = l.Register(t.Context(), "r", "", 0, time.Unix(0, 0))
	noError(t, err)
	commit := func(n int64) error {
		c, err := l.Claim(t.Context(), "r", "", 0, time.Unix(n, 0), "a", 0)
		if err != nil {
			return err
		}
		_, err = l.Commit(t.Context(), c, &ledger.Commit{Run: ledger.Run{
			Rule: "r", Due: c.Due, Started: c.Due, Outcome: ledger.OutcomeFailed, Error: strings.Repeat("x", 1000),
		}})
		return err
	}
	n := int64(1)
	for ; n < 100 && err == nil; n++ { // pages with free room take some rows
		err = commit(n)
	}
	full := func(err error) {
		t.Helper()
		if r, refused := l.Refusal(err); !refused || r.Reason != ledger.RefusedDiskFull || r.String() != "the disk of the ledger is full: make room on it (SQLite 13)" {
			t.Fatalf("%v is the refusal %s", err, r)
		}
	}
	full(err)
	for range 3 {
		full(l.TryCommit(t.Context()))
		noError(t, l.Ping(t.Context()))
	}
	limit("100000")
	noError(t, errors.Join(l.TryCommit(t.Context()), commit(n)))
}
