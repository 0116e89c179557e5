package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

var overviewTests = []testCase{
	{"notices are counted by part of the time and by warehouse", func(t *testing.T, f *fixture) {
		f.register(t)
		made := func(id, warehouse string, after time.Duration, priority int) *notice.Notice {
			n := newNotice(id)
			n.Warehouse, n.CreatedAt, n.Priority = warehouse, start.Add(after), priority
			return n
		}
		f.commit(t, 1, to(nil, made("n_1", "119241", 0, 5), made("n_2", "119240", 0, 3), made("n_3", "119240", time.Hour-time.Microsecond, 4),
			made("n_4", "119240", time.Hour, 1), made("n_before", "119240", -time.Microsecond, 5), made("n_after", "119240", 2*time.Hour, 5)))
		sent := made("n_sent", "119240", time.Hour, 4)
		sent.Status, sent.Rule = notice.Sent, ""
		_, err := f.Send(t.Context(), to(nil, sent))
		noError(t, err)
		got, err := f.CountNotices(t.Context(), start, start.Add(2*time.Hour), time.Hour)
		noError(t, err)
		equal(t, []ledger.NoticeCount{
			{Start: start, Warehouse: "119240", Count: 2, Urgent: 1},
			{Start: start, Warehouse: "119241", Count: 1, Urgent: 1},
			{Start: start.Add(time.Hour), Warehouse: "119240", Count: 2, Urgent: 1},
		}, got)
		got, err = f.CountNotices(t.Context(), start.Add(30*time.Second), start.Add(time.Hour), time.Minute)
		noError(t, err)
		equal(t, []ledger.NoticeCount{{Start: start.Add(59 * time.Minute), Warehouse: "119240", Count: 1, Urgent: 1}}, got)
	}},
	{"findings are counted by the warehouse of their notice, else by their scope", func(t *testing.T, f *fixture) {
		f.register(t)
		far := newNotice("n_far")
		far.Warehouse = "119241"
		told, near, waits, gone := firing("far"), firing("near"), firing("waits"), firing("gone")
		near.NoticeID = "n_silenced" // which was not made
		waits.Phase, waits.NoticeID = finding.Pending, ""
		f.commit(t, 1, to(nil, far, newNotice("n_gone")), inserted(told, near, waits, gone)...)
		f.counts(t, ledger.FindingCount{Warehouse: "119240", Firing: 2, Pending: 1}, ledger.FindingCount{Warehouse: "119241", Firing: 1})

		// What changes without a notice stays where it is; what is told anew goes with its notice.
		told.SeenClock++
		near.NoticeID, waits.Phase, waits.NoticeID = "n_near", finding.Firing, "n_waits"
		nearer, moved := newNotice("n_near"), newNotice("n_waits")
		nearer.Warehouse, moved.Warehouse = "119242", "119242"
		f.commit(t, 2, to(nil, nearer, moved), ledger.FindingChange{Op: ledger.Update, State: told}, ledger.FindingChange{Op: ledger.Update, State: near},
			ledger.FindingChange{Op: ledger.Update, State: waits}, ledger.FindingChange{Op: ledger.Delete, State: gone})
		f.counts(t, ledger.FindingCount{Warehouse: "119241", Firing: 1}, ledger.FindingCount{Warehouse: "119242", Firing: 2})
		_, err := f.Forget(t.Context(), map[string]bool{})
		noError(t, err)
		f.counts(t)
	}},
}

func inserted(states ...finding.State) []ledger.FindingChange {
	out := make([]ledger.FindingChange, len(states))
	for i, s := range states {
		out[i] = ledger.FindingChange{Op: ledger.Insert, State: s}
	}
	return out
}

func (f *fixture) counts(t testing.TB, want ...ledger.FindingCount) {
	t.Helper()
	got, err := f.CountFindings(t.Context())
	noError(t, err)
	equal(t, want, got)
}
