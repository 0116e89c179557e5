package app_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tallyman/docs/codetest"
	"tallyman/internal/app"
	"tallyman/internal/authoring"
	"tallyman/internal/config"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/sqlite"
)

// rules check --source tries the first runs of rules that the ledger does not know.
func TestCheckWarnsOfALargeFirstRun(t *testing.T) {
	t.Parallel()
	base := codetest.Base(t, codesPage, "base")
	const many = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60) INSERT INTO bin_stock SELECT 119240, 'A-' || i, 'S1', -i, '2026-06-01 08:00:00' FROM n"
	checked := func(t *testing.T, text string, prepare func(*example)) []string {
		t.Helper()
		x := newExample(t, base, text, "")
		x.exec(t, "CREATE TABLE bin_stock (wh_id INTEGER NOT NULL, bin_code TEXT NOT NULL, sku TEXT NOT NULL, qty DECIMAL(12,3), changed_at TIMESTAMP);"+many)
		if prepare != nil {
			prepare(x)
		}
		found, err := app.Authoring().Check(t.Context(), x.cfg, authoring.CheckOptions{Paths: []string{x.path}, Live: true})
		if err != nil || len(found.Problems)+len(found.Warnings) > 0 {
			t.Fatal(err, found.Problems, found.Warnings)
		}
		var list []string
		for _, p := range found.Lints {
			list = append(list, p.Code+": "+p.Message)
		}
		return list
	}
	for text, want := range map[string]string{
		"when: qty < 0":        "first_run_large: the first run of the rule would send 60 notices about rows that are already there",
		"when: qty < -10":      "",
		"first_run: baseline":  "",
		"enabled: false":       "",
		"shadow: true":         "",
		"limit: {notices: 5}":  "",
		"for: 1h":              "",
		"scopes: [{name: W1}]": "first_run_large: the first run of the rule in W1 would send 60 notices about rows that are already there",
		"probe: {max_rows: 7}": "too_many_rows: the first run could not be tried: the probe returns more than 7 rows: raise probe.max_rows or narrow the probe",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(checked(t, text, nil), "\n"); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	t.Run("a rule that the ledger knows", func(t *testing.T) {
		t.Parallel()
		got := checked(t, "when: qty < 0", func(x *example) {
			x.cfg.Ledger = config.Ledger{Driver: config.SQLite, Path: filepath.Join(t.TempDir(), "ledger.db")}
			ran(t, x.cfg.Ledger.Path, "example")
		})
		if len(got) != 0 {
			t.Errorf("%q", got)
		}
	})
	t.Run("a rule that the ledger does not know", func(t *testing.T) {
		t.Parallel()
		got := checked(t, "when: qty < 0", func(x *example) {
			x.cfg.Ledger = config.Ledger{Driver: config.SQLite, Path: filepath.Join(t.TempDir(), "ledger.db")}
			ran(t, x.cfg.Ledger.Path, "another")
		})
		if len(got) != 1 {
			t.Errorf("%q", got)
		}
	})
}

// ran makes a ledger in which the rule has run.
func ran(t *testing.T, path, rule string) {
	t.Helper()
	if _, err := sqlite.Migrate(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	l, err := sqlite.Open(t.Context(), path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	due := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	if _, err := l.Register(t.Context(), rule, "", 0, due); err != nil {
		t.Fatal(err)
	}
	c, err := l.Claim(t.Context(), rule, "", 0, due, "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	run := ledger.Run{Rule: rule, Due: due, Started: due, Node: "a", Outcome: ledger.OutcomeOK}
	if _, err := l.Commit(t.Context(), c, &ledger.Commit{Scope: finding.Scope{LastDue: due, LastOKDue: due}, Run: run}); err != nil {
		t.Fatal(err)
	}
}
