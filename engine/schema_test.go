package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/engine"
	"tallyman/engine/enginetest"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
	"tallyman/rules"
	"tallyman/scanners"
	"tallyman/scanners/postgres"
)

// realNode is a node that runs a rule every second on a real database.
type realNode struct {
	*testing.T
	world
	db  *pgx.Conn
	run node
}

func startReal(t *testing.T) *realNode {
	t.Helper()
	url := testenv.Postgres(t)
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	source, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	l := &realNode{T: t, db: db}
	l.exec("CREATE TABLE bin_stock (bin_code text, qty int); INSERT INTO bin_stock VALUES ('A-01', -3), ('A-02', 5)")
	rule := negativeStock()
	rule.Schedule.Cron, rule.Probe.SQL = "* * * * * *", "SELECT * FROM bin_stock"
	l.world = world{t: t, ledger: enginetest.NewLedger(repNotice), inbox: &enginetest.Sink{}, rules: []*rules.Rule{rule}}
	o := l.options("a")
	o.Sources = map[string]scanners.Source{"wms": source}
	l.run = l.start(o)
	return l
}

func (l *realNode) exec(sql string) {
	l.Helper()
	if _, err := l.db.Exec(l.Context(), sql); err != nil {
		l.Fatal(err)
	}
}

// waitFor waits until the rule is as expected, for at least two runs.
func (l *realNode) waitFor(what string, want func(s engine.RuleStatus) bool) {
	l.Helper()
	began := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for time.Since(began) < 20*time.Second {
		<-tick.C
		if s := status(l.T, l.run); want(s) && time.Since(began) > 1100*time.Millisecond {
			return
		}
	}
	l.Fatalf("%s: %+v, last run %+v", what, status(l.T, l.run), status(l.T, l.run).LastRun)
}

func isOK(s engine.RuleStatus) bool {
	return s.Verified && s.LastRun != nil && s.LastRun.Outcome == ledger.OutcomeOK
}

func unverified(s engine.RuleStatus) bool { return !s.Verified && s.Reason != "" }

// TestSchemaChangesWhileTheRulesRun: after a change of the schema the rule reads its columns again. The change alone
// resolves no finding.
func TestSchemaChangesWhileTheRulesRun(t *testing.T) {
	t.Parallel()
	l := startReal(t)
	l.waitFor("at first", isOK)
	l.exec("ALTER TABLE bin_stock ADD COLUMN shelf int")
	l.waitFor("a column more", isOK)
	l.exec("ALTER TABLE bin_stock ALTER COLUMN qty TYPE numeric(10, 2)")
	l.waitFor("another type that compares", isOK)
	l.exec("ALTER TABLE bin_stock ALTER COLUMN qty TYPE text")
	l.waitFor("another type that does not", unverified)
	l.exec("ALTER TABLE bin_stock ALTER COLUMN qty TYPE int USING qty::numeric")
	l.waitFor("the type of before", isOK)
	l.exec("ALTER TABLE bin_stock RENAME COLUMN qty TO quantity; ALTER TABLE bin_stock RENAME COLUMN shelf TO qty")
	l.waitFor("another column of the name", func(s engine.RuleStatus) bool { return isOK(s) && s.LastRun.Matched == 0 })
	l.exec("ALTER TABLE bin_stock RENAME COLUMN qty TO shelf; ALTER TABLE bin_stock RENAME COLUMN quantity TO qty")
	l.waitFor("the names of before", func(s engine.RuleStatus) bool { return isOK(s) && s.LastRun.Matched == 1 })
	l.exec("ALTER TABLE bin_stock DROP COLUMN qty")
	l.waitFor("no column qty", unverified)
	if got := l.told(); len(got) != 3 { // while the other column had the name, the finding was gone
		t.Errorf("told %q", got)
	}
	l.exec("DROP TABLE bin_stock; CREATE TABLE bin_stock (bin_code text, qty int)")
	l.waitFor("an empty table", isOK)
	if got := l.told(); len(got) != 4 || got[3] != "resolved Resolved: Bin A-01 is at -3" {
		t.Errorf("told %q", got)
	}
}
