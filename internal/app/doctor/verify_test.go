package doctor

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/app"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
	"tallyman/sinks/recovery"
)

// TestSurveyedLedgers has one finding for each thing that a ledger may have left, and a warning where somebody must act.
func TestSurveyedLedgers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	full := app.LedgerSurvey{
		Survey: ledger.Survey{
			LastSign: now.Add(-time.Hour), LastNotice: now.Add(-2 * time.Hour), Claimed: 1, Abandoned: 2, Watermarks: 3,
			Items: map[string]map[item.State]int64{"work": {item.Leased: 4, item.Ready: 5}},
		},
		Restored: now.Add(-25 * time.Hour), Pending: 6, Firing: 7,
		Waiting: map[string]int64{"gateway": 8}, Oldest: map[string]time.Time{"gateway": now.Add(-3 * time.Hour)},
		Withheld: map[string]int64{"work": 9},
		Indexes:  []app.IndexOutlook{{Sink: "inbox", Outlook: recovery.Outlook{Epoch: "7-a"}}, {Sink: "new"}},
	}
	expect(t, surveyed(&full, now), map[string]string{
		CodeLedgerEnd: "ok 2026-06-01T07:00:00Z, 1h0m0s ago; the latest notice is from 2026-06-01T06:00:00Z", CodeLedgerRestored: "ok 2026-05-31T07:00:00Z",
		CodeLedgerLineage + " inbox": "ok epoch 7-a", CodeLedgerLineage + " new": "ok no node has served",
		CodeDeliveriesWaiting + " gateway": "ok wait: 8, the oldest since 2026-06-01T05:00:00Z", CodeItemsWithheld + " work": "warning withheld items: 9",
		CodeItemsOpen + " work": "ok 4 leased, 5 ready; after a restore the leases have ended", CodeFindingsOpen: "ok 7 firing, 6 pending",
		CodeFiringsClaimed: "ok 1 claimed, 2 abandoned", CodeWatermarks: "ok watermarks: 3",
	})
	full.Restored = now.Add(-time.Hour)
	full.Indexes = []app.IndexOutlook{
		{Sink: "inbox", Outlook: recovery.Outlook{Epoch: "7-a", Restored: "notice n_1", Rebuilt: "notice n_1"}},
		{Sink: "work", Outlook: recovery.Outlook{Epoch: "7-a", Rebuilt: "Redis is at epoch 0"}},
		{Sink: "gone", Err: errors.New("no answer")},
	}
	expect(t, surveyed(&full, now), map[string]string{
		CodeLedgerRestored: "warning 2026-06-01T07:00:00Z", CodeLedgerLineage + " inbox": "warning knows more than this ledger: notice n_1",
		CodeLedgerLineage + " work": "warning Redis is at epoch 0", CodeLedgerLineage + " gone": "warning no answer",
		CodeDeliveriesWaiting + " gateway": "warning sent after 2026-06-01T07:00:00Z",
	})
	expect(t, surveyed(&app.LedgerSurvey{}, now), map[string]string{
		CodeLedgerEnd: "ok no node has used", CodeLedgerRestored: "ok no node has noticed", CodeLedgerLineage: "ok Redis runs inside",
		CodeDeliveriesWaiting: "ok nothing is sent", CodeItemsOpen: "ok no queue",
	})
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	applied := time.Now()
	first := ledger.Migration{Version: 100, Name: "00100_ledger.sql", Phase: ledger.Expand, Applied: applied}
	for want, steps := range map[string][]ledger.Migration{
		"wrong no schema":                   {{Version: 100, Name: "a", Phase: ledger.Expand}},
		"wrong expand are pending: 1":       {first, {Version: 101, Name: "b", Phase: ledger.Expand}},
		"ok contract are pending: 1":        {first, {Version: 101, Name: "b", Phase: ledger.Contract}},
		"ok expanded the schema to version": {first, {Version: 101, Applied: applied}},
	} {
		expect(t, []Finding{schemaOf(steps, nil)}, map[string]string{CodeLedgerSchema: want})
	}
	expect(t, []Finding{schemaOf(nil, ledger.ErrOutdated)}, map[string]string{CodeLedgerSchema: "wrong ledger_outdated"})
}

// TestVerifyOfAServer verifies a ledger in PostgreSQL that Redis knows nothing about, and then one that has lost an
// index.
func TestVerifyOfAServer(t *testing.T) {
	t.Parallel()
	cfg := siteOf(t, "ledger: {url: \""+testenv.Postgres(t)+"\"}\nredis: {url: \""+testenv.Redis(t).URL()+"\"}\nsinks:\n  inbox: {type: inbox}\n  work: {type: queue}\n")
	expect(t, Verify(t.Context(), cfg), map[string]string{CodeLedgerSchema: "wrong no schema"})
	if _, err := app.Migrate(t.Context(), cfg, app.MigrateOptions{}); err != nil {
		t.Fatal(err)
	}
	list := Verify(t.Context(), cfg)
	expect(t, list, map[string]string{
		CodeLedgerSchema: "ok", CodeLedgerIntegrity: "ok are there", CodeLedgerIndexes: "skipped amcheck is not there",
		CodeLedgerLineage + " inbox": "ok no node has served", CodeLedgerLineage + " work": "ok no node has served",
	})
	if IsWrong(list) {
		t.Errorf("%+v", list)
	}
	conn, err := pgx.Connect(t.Context(), cfg.Ledger.URL.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), "DROP INDEX notices_created")
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	expect(t, Verify(t.Context(), cfg), map[string]string{CodeLedgerIntegrity: "wrong missing in the database: index notices.notices_created"})
}
