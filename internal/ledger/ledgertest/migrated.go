package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// The data that CheckMigrated wants of a ledger that was at its first version: a rule with two findings, the notice of the first
// on its way to a sink.
const (
	OldRule   = rule
	OldScope  = scope
	OldFiring = `["A"]`
	OldOther  = `["B"]`
	OldSink   = "gateway"
	OldSeq    = 7 // of the delivery
)

// OldNotice is the notice of OldFiring.
func OldNotice() *notice.Notice { return traced("n_old", 1) }

// OldFinding is the state of the finding with that key.
func OldFinding(key string) finding.State {
	s := firing(key)
	if key == OldFiring {
		s.NoticeID = OldNotice().ID
	}
	return s
}

// OldNow is the clock that the ledger is to be opened with.
func OldNow() time.Time { return start }

// CheckMigrated proves that a ledger with those data goes on where it stood.
func CheckMigrated(t testing.TB, l ledger.Ledger) {
	t.Helper()
	f := &fixture{Ledger: l}
	old, other := OldFinding(OldFiring), OldFinding(OldOther)
	f.hasFindings(t, old, other)
	f.hasFinding(t, ledger.Finding{State: old})
	f.isPromoted(t, l, scope, time.Time{}, "")
	got, err := l.Trace(t.Context(), rule, scope, []string{OldFiring}, []string{old.NoticeID}, 10)
	noError(t, err)
	equal(t, 1, len(got))
	equal(t, OldNotice(), got[0].Notice)
	equal(t, []ledger.Lane{{Sink: OldSink}}, []ledger.Lane{got[0].Deliveries[0].Lane})

	c := f.claim(t, 9)
	run := commitOf(c)
	other.Priority = 5
	run.Findings = []ledger.FindingChange{
		{State: other, Op: ledger.Update, Row: []byte(`{}`)}, {State: old, Op: ledger.Delete},
	}
	back := to([]ledger.Target{{Sink: OldSink}}, traced("n_new", 9))[0]
	back.After = old.NoticeID
	run.Notices = []ledger.NewNotice{back}
	done, err := l.Commit(t.Context(), c, run)
	noError(t, err)
	equal(t, 1, done.Deliveries)
	f.hasFindings(t, other)
	f.hasFinding(t, ledger.Finding{State: other, Row: []byte(`{}`), RowDue: due(9)})
	got, err = l.Trace(t.Context(), rule, scope, []string{OldFiring}, []string{old.NoticeID}, 10)
	noError(t, err)
	equal(t, 2, len(got))
	list := f.pending(t, ledger.Lane{Sink: OldSink})
	equal(t, []string{old.NoticeID, "n_new"}, ids(list))
	noError(t, l.MarkSent(t.Context(), []delivery.Receipt{{Seq: list[0].Seq}}))

	records, err := l.ListDeliveries(t.Context(), ledger.DeliveryFilter{Sink: OldSink, Limit: 10})
	noError(t, err)
	equal(t, 2, len(records))
	equal(t, OldNotice().Warehouse, records[1].Where)
	f.commit(t, 10, to([]ledger.Target{important}, newNotice("n_pushed")))
	claims, err := l.ClaimPushes(t.Context(), gateway, "a", lease, 10)
	noError(t, err)
	equal(t, []string{"n_pushed"}, claimedIDs(claims)) // and not what was sent there otherwise

	f.begin(t, "", "e1")
	items := f.pushed(t, "i_1", "i_2")
	f.finish(t, 1, item.Done, items[0])
	f.hasUnfinished(t, items[1])
}

// The versions of rule files that a ledger of before rule_versions is to have recorded, the first one first.
const (
	OldVersionBefore = `{"version":"v1"}`
	OldVersion       = `{"version":"v2","rules":3,"problems":0}`
)

// CheckRulesMigrated proves that a ledger with those records knows which rules were in force last.
func CheckRulesMigrated(t testing.TB, l ledger.Ledger) {
	t.Helper()
	f := &fixture{Ledger: l}
	equal(t, 1, f.number(t, "rules"))
	for _, version := range []string{"v2", "v3"} {
		recorded, err := l.TakeRules(t.Context(), Ann, 1, &ledger.RulesVersion{Version: version})
		noError(t, err)
		equal(t, version == "v3", recorded)
	}
	equal(t, `{"version":"v2"}`, string(f.changes(t, ledger.ChangeFilter{Limit: 1})[0].Before))
}

// CheckMigratedItems proves that items of the queue "old", one of the id of OldNotice and one of another, belong to its warehouse and to none.
func CheckMigratedItems(t testing.TB, l ledger.Ledger) {
	t.Helper()
	items, err := l.UnfinishedItems(t.Context(), "old", 0, 10)
	noError(t, err)
	got := map[string]string{}
	for _, i := range items {
		got[i.ID] = i.Warehouse
	}
	equal(t, map[string]string{OldNotice().ID: OldNotice().Warehouse, "pushed": ""}, got)
}
