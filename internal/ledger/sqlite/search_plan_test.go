package sqlite

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// TestSearchesGoByIndex wants every search to be led by an index that gives its order, too.
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
			s := rows.NewSearch(f)
			a, _ := s.Next()
			lead, args := leadOf(s, &a)
			plan, err := planOf(t.Context(), db, lead, args...)
			noError(t, err)
			if !strings.Contains(plan, want) {
				t.Errorf("want %s, got\n%s", want, plan)
			}
		}
	}
}

// planOf is how the query by name is answered.
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
