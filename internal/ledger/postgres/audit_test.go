package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/postgres"
)

// Not even the owner of the database can change or remove a record, unless they drop the trigger.
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

// A process that dies in the middle of a change leaves both the change and its record, or neither.
func TestAuditOfAProcessThatIsKilled(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	ledgertest.CheckKilled(t, url, func(t testing.TB, opts ledger.Options) ledger.Ledger {
		t.Helper()
		l, err := postgres.Open(t.Context(), url, opts)
		if err != nil {
			t.Fatal(err)
		}
		return l
	})
}

// A connection that breaks in the middle of a change leaves both the change and its record, or neither, also where
// the answer to the commit is lost.
func TestAuditOfBrokenConnections(t *testing.T) {
	t.Parallel()
	direct := migrated(t)
	line := newLine(t, direct)
	now := ledger.Options{Now: ledgertest.Now}
	broken, l := open(t, line.url, ledger.Options{Now: ledgertest.Now, MaxConnections: 2}), open(t, direct, now)
	tries := 0
	ledgertest.CheckBroken(t, l, func(n int, do func(ledger.Ledger) error) error {
		tries++
		cut := time.AfterFunc(time.Duration(n*n)*time.Millisecond/4, line.cut)
		defer line.settle(t)
		defer cut.Stop()
		err := do(broken)
		if err != nil {
			line.broken++
		}
		return err
	})
	t.Logf("%d of %d calls broke", line.broken, tries)
	if line.broken == 0 {
		t.Error("no call broke: the test shows nothing")
	}
}
