package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
)

// Not even the owner of the database changes or removes what is recorded, unless he takes the trigger away.
func TestAuditIsAppendOnly(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	l := open(t, url, ledger.Options{})
	if err := l.AddChange(t.Context(), &ledger.Change{By: "user:ann", Via: ledger.ViaNone, Action: "rule.run", Object: "rule:a"}); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	for _, statement := range []string{
		"UPDATE audit SET actor = 'user:bo'", "DELETE FROM audit", "TRUNCATE audit",
		"INSERT INTO audit (seq, at, actor, via, action, object, reason) OVERRIDING SYSTEM VALUE VALUES (1, 0, '', '', '', '', '') ON CONFLICT (seq) DO UPDATE SET actor = ''",
	} {
		if _, err := c.Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "never changed or removed") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if list, _, err := l.Changes(t.Context(), ledger.ChangeFilter{Limit: 10}); err != nil || len(list) != 1 || list[0].By != "user:ann" {
		t.Errorf("left: %+v, %v", list, err)
	}
}
