package sqlite_test

import (
	"strings"
	"testing"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/sqlite"
)

// Nobody can change or remove a record, unless they drop the triggers.
func TestAuditIsAppendOnly(t *testing.T) {
	t.Parallel()
	path := migrated(t)
	l := open(t, path, ledger.Options{})
	if err := l.AddChange(t.Context(), &ledger.Change{By: "user:ann", Via: ledger.ViaNone, Action: "rule.run", Object: "rule:a"}); err != nil {
		t.Fatal(err)
	}
	db := openBeside(t, path)
	defer func() { _ = db.Close() }()
	for _, statement := range []string{
		"UPDATE audit SET actor = 'user:bo'", "DELETE FROM audit",
		"REPLACE INTO audit VALUES (1, 0, '', '', '', '', NULL, NULL, '')",
		"INSERT INTO audit VALUES (1, 0, '', '', '', '', NULL, NULL, '') ON CONFLICT DO UPDATE SET actor = ''",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "never changed or removed") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if list, _, err := l.Changes(t.Context(), ledger.ChangeFilter{Limit: 10}); err != nil || len(list) != 1 || list[0].By != "user:ann" {
		t.Errorf("left: %+v, %v", list, err)
	}
}

// A process that dies in the middle of a change leaves both the change and its record, or neither.
func TestAuditOfAProcessThatIsKilled(t *testing.T) {
	t.Parallel()
	path := migrated(t)
	ledgertest.CheckKilled(t, path, func(t testing.TB, opts ledger.Options) ledger.Ledger {
		t.Helper()
		l, err := sqlite.Open(t.Context(), path, opts)
		if err != nil {
			t.Fatal(err)
		}
		return l
	})
}
