package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
)

var sampleTests = []testCase{
	{"open findings are counted by warehouse and rule", func(t *testing.T, f *fixture) {
		f.register(t)
		far := newNotice("n_far")
		far.Warehouse = "119241"
		waits := firing("waits")
		waits.Phase, waits.NoticeID = finding.Pending, ""
		f.commit(t, 1, to(nil, far), inserted(firing("far"), waits)...)
		got, err := f.CountRuleFindings(t.Context())
		noError(t, err)
		equal(t, []ledger.RuleFindings{{Warehouse: "119240", Rule: rule, Pending: 1}, {Warehouse: "119241", Rule: rule, Firing: 1}}, got)
	}},
	{"deliveries that wait are those that are due and pending, the first that were made", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		list := numbered("n_", 4)
		for i, n := range list {
			n.CreatedAt = start.Add(time.Duration(i) * time.Second)
		}
		later := newNotice("n_later")
		later.Key = `["later"]`
		f.commit(t, 1, append(to([]ledger.Target{inbox}, list...),
			to([]ledger.Target{{Sink: "gateway", Recipients: []string{"user:1"}, Strategy: &delivery.Strategy{Kind: delivery.Delayed, Delay: time.Hour}}}, later)...))
		f.send(t, f.pending(t, inboxLane)[:1], "", 100)
		got, err := f.WaitingDeliveries(t.Context(), start.Add(2*time.Second), 10)
		noError(t, err)
		want := []ledger.WaitingDelivery{{Warehouse: warehouse, Type: "REP_NOTICE", Since: start.Add(time.Second)}, {Warehouse: warehouse, Type: "REP_NOTICE", Since: start.Add(2 * time.Second)}}
		equal(t, want, got)
		got, err = f.WaitingDeliveries(t.Context(), start.Add(24*time.Hour), 10)
		noError(t, err)
		equal(t, 4, len(got)) // including the delayed one
		got, err = f.WaitingDeliveries(t.Context(), start.Add(2*time.Second), 1)
		noError(t, err)
		equal(t, want[:1], got)
	}},
	{"older deliveries that are not due yet, or that a silence holds back, do not hide the deliveries that wait", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		one := silenced(t, "s_1", "rule=x")
		noError(t, f.AddSilence(t.Context(), Ann, &one))
		f.commit(t, 1, append(to([]ledger.Target{delayed(time.Hour, "")}, ofKey("later", 0), ofKey("even later", 0)), to([]ledger.Target{important}, ofKey("held", 0))...))
		f.hold(t, "s_1", f.claimPushes(t, "a", 10).List, time.Hour)
		f.commit(t, 2, to([]ledger.Target{inbox, important}, newNotice("n_1")))
		got, err := f.WaitingDeliveries(t.Context(), f.clock.Now(), 2)
		noError(t, err)
		waits := ledger.WaitingDelivery{Warehouse: warehouse, Type: "REP_NOTICE", Since: newNotice("n_1").CreatedAt}
		equal(t, []ledger.WaitingDelivery{waits, waits}, got)
	}},
	{"a sample is claimed once and recorded once", func(t *testing.T, f *fixture) {
		claim := func(l ledger.Ledger, step time.Duration, want bool) {
			t.Helper()
			got, err := l.ClaimSample(t.Context(), step, start)
			noError(t, err)
			equal(t, want, got)
		}
		claim(f, time.Minute, true)
		claim(f.other(t), time.Minute, false)
		claim(f.other(t), time.Hour, true)
		got, err := f.Samples(t.Context(), time.Minute, start, start.Add(time.Hour))
		noError(t, err)
		equal(t, 0, len(got)) // claimed but not recorded
		last, err := f.LastSample(t.Context(), time.Minute)
		noError(t, err)
		equal(t, time.Time{}, last)
		first := ledger.Sample{Start: start, Taken: 1, Figures: map[ledger.Cell]ledger.Figures{
			{Warehouse: "119240", Type: "REP_NOTICE"}: {Notices: 1, Urgent: 2, Firing: 3, Pending: 4, Ages: []int64{0, 5}, QueueAge: 6, Lateness: 7}, {}: {Lateness: 8},
		}}
		noError(t, f.RecordSamples(t.Context(), time.Minute, []ledger.Sample{first}))
		again := first
		again.Taken = 9
		second := ledger.Sample{Start: start.Add(time.Minute), Taken: 1, Figures: map[ledger.Cell]ledger.Figures{}}
		noError(t, f.RecordSamples(t.Context(), time.Minute, []ledger.Sample{again, second}))
		claim(f.other(t), time.Minute, false)
		got, err = f.Samples(t.Context(), time.Minute, start, start.Add(time.Hour))
		noError(t, err)
		equal(t, []ledger.Sample{first, second}, got)
		got, err = f.Samples(t.Context(), time.Minute, start.Add(time.Microsecond), start.Add(time.Minute))
		noError(t, err)
		equal(t, 0, len(got))
		last, err = f.LastSample(t.Context(), time.Minute)
		noError(t, err)
		equal(t, second.Start, last)
		noError(t, f.PruneSamples(t.Context(), time.Minute, second.Start))
		noError(t, f.PruneSamples(t.Context(), time.Hour, start))
		got, err = f.Samples(t.Context(), time.Minute, time.Time{}, start.Add(time.Hour))
		noError(t, err)
		equal(t, []ledger.Sample{second}, got)
		claim(f.other(t), time.Hour, false)
	}},
	{"runs that failed are listed, those of all rules", func(t *testing.T, f *fixture) {
		f.register(t)
		for n := 1; n <= 3; n++ {
			c := f.claim(t, n)
			run := commitOf(c)
			if n != 2 {
				run.Run.Outcome, run.Run.Error = ledger.OutcomeFailed, "probe_timeout: it took too long"
			}
			_, err := f.Commit(t.Context(), c, run)
			noError(t, err)
		}
		got, err := f.FailedRuns(t.Context(), time.Time{}, 10)
		noError(t, err)
		equal(t, 2, len(got))
		equal(t, "probe_timeout: it took too long", got[1].Error)
		latest, err := f.FailedRuns(t.Context(), got[0].Due, 10)
		noError(t, err)
		equal(t, got[:1], latest)
		latest, err = f.FailedRuns(t.Context(), time.Time{}, 1)
		noError(t, err)
		equal(t, got[:1], latest)
	}},
}
