package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/docs/codetest"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/schema"
)

// Every function refuses a ledger from before this program's first migration or after its last, and leaves it as it
// is.
func TestLedgerOfAnotherVersionIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		versions string
		want     error
		code     string
	}{
		"older": {"(0, 1), (13, 1), (14, 1)", ledger.ErrOutdated, "ledger_outdated"},
		"newer": {"(0, 1), (100, 1), (117, 1)", ledger.ErrNewer, "ledger_newer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := ledgerAt(t, c.versions)
			for what, do := range map[string]func(context.Context) error{
				"migrate":   func(ctx context.Context) error { _, err := Migrate(ctx, path); return err },
				"status":    func(ctx context.Context) error { _, err := Status(ctx, path); return err },
				"open":      func(ctx context.Context) error { _, err := Open(ctx, path, ledger.Options{}); return err },
				"read only": func(ctx context.Context) error { _, err := OpenReadOnly(ctx, path, ledger.Options{}); return err },
			} {
				err := do(t.Context())
				if !errors.Is(err, c.want) || errors.Is(err, ledger.ErrSchema) {
					t.Fatalf("%s: got %v, want %v", what, err, c.want)
				}
				codetest.Outcome(t, "../../../docs/reference/error-codes.md", "The ledger", c.code, err.Error()+"\n")
			}
		})
	}
}

// ledgerAt makes a ledger in which only these migrations are recorded.
func ledgerAt(t *testing.T, versions string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	db, err := openWriter(path)
	noError(t, err)
	for _, statement := range []string{
		"CREATE TABLE " + schema.Table + " (id INTEGER PRIMARY KEY, version_id INTEGER, is_applied INTEGER, tstamp TIMESTAMP DEFAULT (datetime('now')))",
		"INSERT INTO " + schema.Table + " (version_id, is_applied) VALUES " + versions,
	} {
		_, err := db.ExecContext(t.Context(), statement)
		noError(t, err)
	}
	noError(t, db.Close())
	return path
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestQueriesAreUsed(t *testing.T) {
	t.Parallel()
	ledgertest.QueriesAreUsed(t, queries)
}

// TestNoticesAreCountedByIndex checks that counts read only the index, because they run often.
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
	err = db.QueryRowContext(t.Context(), "EXPLAIN QUERY PLAN "+queries.Get("count-notices"), 1, 2, 1, "T").Scan(&id, &parent, &unused, &detail)
	noError(t, err)
	if !strings.Contains(detail, "COVERING INDEX notices_created") {
		t.Error(detail)
	}
}

// TestSearchesGoByIndex checks that an index leads every search and also gives its order.
func TestSearchesGoByIndex(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	_, err := Migrate(t.Context(), path)
	noError(t, err)
	db, err := openWriter(path)
	noError(t, err)
	defer func() { noError(t, db.Close()) }()
	scope := "119240"
	for want, filters := range map[string][]ledger.NoticeFilter{
		"SEARCH notices USING COVERING INDEX notices_created (created_at>? AND created_at<?)": {
			{}, {Rule: "rule-7"}, {Types: []string{"T1"}, Priority: 4}, {Warehouses: []string{"W1"}},
		},
		"INDEX notices_finding (finding=?)": {{Rule: "rule-7", Scope: &scope, Finding: "[1]"}},
	} {
		for _, f := range filters {
			s := codec.NewSearch(f)
			a, _ := s.Next()
			lead, args := s.Lead(&a, a.At, a.N)
			plan, err := planOf(t.Context(), db, lead, args...)
			noError(t, err)
			if !strings.Contains(plan, want) {
				t.Errorf("want %s, got\n%s", want, plan)
			}
		}
	}
}

// planOf returns the plan of the query by name.
func planOf(ctx context.Context, db queryer, name string, args ...any) (string, error) {
	found, err := db.QueryContext(ctx, "EXPLAIN QUERY PLAN "+queries.Get(name), encoded(args)...)
	if err != nil {
		return "", err
	}
	defer found.Close()
	var lines []string
	for found.Next() {
		var id, parent, unused int
		var detail string
		if err := found.Scan(&id, &parent, &unused, &detail); err != nil {
			return "", err
		}
		lines = append(lines, detail)
	}
	return strings.Join(lines, "\n"), found.Err()
}
