package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

var historyTests = []testCase{
	{"a finding keeps the row of its last change that had one", func(t *testing.T, f *fixture) {
		f.register(t)
		_, err := f.Finding(t.Context(), rule, scope, "k1")
		isError(t, ledger.ErrNotFound, err)
		one, two := firing("k1"), firing("k2")
		one.Group = `["A"]`
		f.commit(t, 1, nil, ledger.FindingChange{State: one, Op: ledger.Insert, Row: []byte("{\"sku\":\"S\\u0000\xff\"}")},
			ledger.FindingChange{State: two, Op: ledger.Insert})
		f.hasFindings(t, one, two)
		f.hasFinding(t, ledger.Finding{State: one, Row: []byte("{\"sku\":\"S\\u0000\xff\"}"), RowDue: due(1)})
		f.hasFinding(t, ledger.Finding{State: two})

		one.Priority, one.Group, two.Group = 5, `["B"]`, `["C"]`
		f.commit(t, 2, nil, ledger.FindingChange{State: one, Op: ledger.Update},
			ledger.FindingChange{State: two, Op: ledger.Update, Row: []byte(`{"sku":"T"}`)})
		f.hasFinding(t, ledger.Finding{State: one, Row: []byte("{\"sku\":\"S\\u0000\xff\"}"), RowDue: due(1)})
		f.hasFinding(t, ledger.Finding{State: two, Row: []byte(`{"sku":"T"}`), RowDue: due(2)})

		f.commit(t, 3, nil, ledger.FindingChange{State: one, Op: ledger.Update, Row: []byte(`{}`)},
			ledger.FindingChange{State: two, Op: ledger.Delete})
		f.hasFinding(t, ledger.Finding{State: one, Row: []byte(`{}`), RowDue: due(3)})
		_, err = f.Finding(t.Context(), rule, scope, "k2")
		isError(t, ledger.ErrNotFound, err)
		_, err = f.Finding(t.Context(), rule, "elsewhere", "k1")
		isError(t, ledger.ErrNotFound, err)
	}},
	{"a trace has every notice of the key, the latest first, with the states of its deliveries", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		gateway := ledger.Target{Sink: "gateway"}
		n := traced("n_1", 1)
		f.commit(t, 1, to([]ledger.Target{inbox, gateway}, n, traced("n_other", 1, func(o *notice.Notice) { o.Key = `["B"]` })))
		f.send(t, f.pending(t, inboxLane), "", 7)
		waiting := f.pending(t, ledger.Lane{Sink: "gateway"})
		noError(t, f.MarkAttempt(t.Context(), seqs(waiting), delivery.Attempt{Error: "no answer"}))
		noError(t, f.MarkFailed(t.Context(), seqs(waiting[:1]), delivery.Attempt{Error: "a 400"}))

		second := traced("n_2", 2)
		f.commit(t, 2, append(to(nil, second), to([]ledger.Target{inbox},
			traced("n_far", 2, func(o *notice.Notice) { o.Scope = "119241" }), traced("n_rule", 2, func(o *notice.Notice) { o.Rule = "other" }))...))
		got, err := f.Trace(t.Context(), rule, scope, []string{n.Key}, nil, 10)
		noError(t, err)
		want := []ledger.NoticeTrace{{Notice: second}, {Notice: n, Deliveries: []ledger.DeliveryTrace{
			{Lane: inboxLane, State: ledger.DeliverySent, Attempts: 1, SentAt: start, Recipients: []string{"user:1"}},
			{Lane: ledger.Lane{Sink: "gateway"}, State: ledger.DeliveryFailed, Attempts: 2, LastError: "a 400"},
		}}}
		equal(t, want, withoutSeqs(t, got))

		got, err = f.Trace(t.Context(), rule, scope, []string{n.Key}, nil, 1)
		noError(t, err)
		equal(t, want[:1], got)
		got, err = f.Trace(t.Context(), rule, scope, []string{`["B"]`, n.Key}, []string{"n_2", "n_far", "n_none"}, 10)
		noError(t, err)
		equal(t, 4, len(got))
		got, err = f.Trace(t.Context(), rule, scope, nil, nil, 10)
		noError(t, err)
		equal(t, 0, len(got))
	}},
	{"a trace outlives its finding and its rule, and ends with the notices", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		n := traced("n_1", 1)
		f.commit(t, 1, to([]ledger.Target{inbox}, n))
		f.forget(t)
		got, err := f.Trace(t.Context(), rule, scope, []string{n.Key}, nil, 10)
		noError(t, err)
		equal(t, 1, len(got))
		f.send(t, f.pending(t, inboxLane), "", 1)
		f.clock.Add(48 * time.Hour)
		_, err = f.Prune(t.Context(), f.clock.Now(), 1)
		noError(t, err)
		got, err = f.Trace(t.Context(), rule, scope, []string{n.Key}, []string{n.ID}, 10)
		noError(t, err)
		equal(t, 0, len(got))
	}},
	{"a plan is kept by rule and scope until it is replaced or forgotten", func(t *testing.T, f *fixture) {
		f.register(t)
		_, err := f.LastPlan(t.Context(), rule, scope)
		isError(t, ledger.ErrNotFound, err)
		p := ledger.ProbePlan{Rule: rule, Scope: scope, Checksum: "c1", Cost: 1234567.25, Shape: "Seq Scan bin_stock", Asked: due(1)}
		elsewhere := p
		elsewhere.Scope = "119241"
		for _, plan := range []ledger.ProbePlan{p, elsewhere} {
			noError(t, f.RecordPlan(t.Context(), plan))
		}
		f.hasPlan(t, p)
		p.Before = &ledger.PlanBefore{Cost: p.Cost, Shape: p.Shape, Until: due(2)}
		p.Cost, p.Shape, p.Asked = 0.5, "Index Scan bin_stock_pkey", due(2)
		noError(t, f.RecordPlan(t.Context(), p))
		f.hasPlan(t, p)
		f.hasPlan(t, elsewhere)
		f.forget(t)
		_, err = f.LastPlan(t.Context(), rule, scope)
		isError(t, ledger.ErrNotFound, err)
		f.hasPlan(t, elsewhere) // a plan without a registered rule
	}},
}

var shadowTests = []testCase{
	{"a promotion counts for one rule in one scope until it is taken back", func(t *testing.T, f *fixture) {
		isError(t, ledger.ErrNotFound, f.Promote(t.Context(), author("ann"), rule, scope, due(1)))
		noError(t, f.Demote(t.Context(), Ann, rule, scope))
		f.register(t)
		_, err := f.Register(t.Context(), rule, "119241", 0, start)
		noError(t, err)
		noError(t, f.Promote(t.Context(), author("ann"), rule, scope, due(1)))
		noError(t, f.Promote(t.Context(), author("bob"), rule, scope, due(2)))
		f.isPromoted(t, f.other(t), scope, due(1), "ann")
		f.isPromoted(t, f, "119241", time.Time{}, "")
		all, err := f.Promotions(t.Context())
		noError(t, err)
		equal(t, []ledger.Promotion{{Rule: rule, Scope: scope, At: due(1), By: "ann"}}, all)
		f.commit(t, 1, nil)
		f.isPromoted(t, f, scope, due(1), "ann")
		noError(t, f.Demote(t.Context(), Ann, rule, scope))
		f.isPromoted(t, f, scope, time.Time{}, "")
		noError(t, f.Promote(t.Context(), author("bob"), rule, scope, due(3)))
		f.isPromoted(t, f, scope, due(3), "bob")
	}},
	{"named recipients get an inbox delivery without a subscription, and nobody else does", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		shadow := ledger.Target{Sink: inboxSink, Inbox: true, Recipients: []string{"shadow:" + rule}}
		done := f.commit(t, 1, to([]ledger.Target{shadow}, newNotice("n_1")))
		equal(t, ledger.CommitResult{Deliveries: 1, Lanes: []ledger.Lane{inboxLane}}, done)
		equal(t, shadow.Recipients, f.pending(t, inboxLane)[0].Recipients)

		// A resolution goes to the sinks of its firing notice, even if the rule now delivers elsewhere. It does not
		// go to sinks that did not get that notice.
		f.send(t, f.pending(t, inboxLane), "", 1)
		back := to([]ledger.Target{inbox, {Sink: "queue"}}, newNotice("n_2"))[0]
		back.After = "n_1"
		live := to([]ledger.Target{{Sink: "queue"}}, newNotice("n_3"))[0]
		f.commit(t, 2, []ledger.NewNotice{back, live})
		equal(t, []string{"n_2"}, ids(f.pending(t, inboxLane)))
		equal(t, shadow.Recipients, f.pending(t, inboxLane)[0].Recipients)
		equal(t, []string{"n_3"}, ids(f.pending(t, ledger.Lane{Sink: "queue"})))
		alone := to([]ledger.Target{{Sink: "queue"}, shadow}, newNotice("n_4"))[0]
		alone.After = "n_3"
		equal(t, ledger.CommitResult{Deliveries: 1, Lanes: []ledger.Lane{{Sink: "queue"}}}, f.commit(t, 3, []ledger.NewNotice{alone}))
	}},
}

// traced makes a notice of the finding `["A"]`, created at the n-th due time.
func traced(id string, n int, change ...func(*notice.Notice)) *notice.Notice {
	note := newNotice(id)
	note.Key, note.CreatedAt = `["A"]`, due(n)
	for _, c := range change {
		c(note)
	}
	return note
}

func withoutSeqs(t testing.TB, list []ledger.NoticeTrace) []ledger.NoticeTrace {
	t.Helper()
	for _, n := range list {
		for i := range n.Deliveries {
			if n.Deliveries[i].Seq == 0 {
				t.Fatalf("%s: a delivery has no number", n.Notice.ID)
			}
			n.Deliveries[i].Seq = 0
		}
	}
	return list
}

func (f *base) hasFinding(t testing.TB, want ledger.Finding) {
	t.Helper()
	got, err := f.Finding(t.Context(), rule, scope, want.Key)
	noError(t, err)
	equal(t, want, got)
}

func (f *base) hasPlan(t testing.TB, want ledger.ProbePlan) {
	t.Helper()
	got, err := f.LastPlan(t.Context(), want.Rule, want.Scope)
	noError(t, err)
	equal(t, want, got)
}

func (f *base) isPromoted(t testing.TB, l ledger.Ledger, scope string, at time.Time, by string) {
	t.Helper()
	s, err := l.Scope(t.Context(), rule, scope)
	noError(t, err)
	equal(t, at, s.Promoted)
	equal(t, by, s.PromotedBy)
}

var overviewTests = []testCase{
	{"notices are counted by part of the time, by warehouse and by type", func(t *testing.T, f *fixture) {
		f.register(t)
		made := func(id, warehouse string, after time.Duration, priority int) *notice.Notice {
			n := newNotice(id)
			n.Warehouse, n.CreatedAt, n.Priority = warehouse, start.Add(after), priority
			return n
		}
		late := made("n_3", "119240", time.Hour-time.Microsecond, 4)
		late.Type = "ASN_NOTICE"
		f.commit(t, 1, to(nil, made("n_1", "119241", 0, 5), made("n_2", "119240", 0, 3), late,
			made("n_4", "119240", time.Hour, 1), made("n_before", "119240", -time.Microsecond, 5), made("n_after", "119240", 2*time.Hour, 5)))
		sent := made("n_sent", "119240", time.Hour, 4)
		sent.Status, sent.Rule = notice.Sent, ""
		_, err := f.Send(t.Context(), to(nil, sent))
		noError(t, err)
		got, err := f.CountNotices(t.Context(), start, start.Add(2*time.Hour), time.Hour)
		noError(t, err)
		equal(t, []ledger.NoticeCount{
			{Start: start, Warehouse: "119240", Type: "ASN_NOTICE", Count: 1, Urgent: 1},
			{Start: start, Warehouse: "119240", Type: "REP_NOTICE", Count: 1},
			{Start: start, Warehouse: "119241", Type: "REP_NOTICE", Count: 1, Urgent: 1},
			{Start: start.Add(time.Hour), Warehouse: "119240", Type: "REP_NOTICE", Count: 2, Urgent: 1},
		}, got)
		got, err = f.CountNotices(t.Context(), start.Add(30*time.Second), start.Add(time.Hour), time.Minute)
		noError(t, err)
		equal(t, []ledger.NoticeCount{{Start: start.Add(59 * time.Minute), Warehouse: "119240", Type: "ASN_NOTICE", Count: 1, Urgent: 1}}, got)
	}},
	{"findings are counted by the warehouse of their notice, else by their scope", func(t *testing.T, f *fixture) {
		f.register(t)
		far := newNotice("n_far")
		far.Warehouse = "119241"
		told, near, waits, gone := firing("far"), firing("near"), firing("waits"), firing("gone")
		near.NoticeID = "n_silenced" // a notice that was not made
		waits.Phase, waits.NoticeID = finding.Pending, ""
		f.commit(t, 1, to(nil, far, newNotice("n_gone")), inserted(told, near, waits, gone)...)
		f.counts(t, ledger.FindingCount{Warehouse: "119240", Firing: 2, Pending: 1}, ledger.FindingCount{Warehouse: "119241", Firing: 1})

		// A finding that changes without a notice keeps its warehouse; a new notice brings the warehouse of that
		// notice.
		told.SinceClock++
		near.NoticeID, waits.Phase, waits.NoticeID = "n_near", finding.Firing, "n_waits"
		nearer, moved := newNotice("n_near"), newNotice("n_waits")
		nearer.Warehouse, moved.Warehouse = "119242", "119242"
		f.commit(t, 2, to(nil, nearer, moved), ledger.FindingChange{Op: ledger.Update, State: told}, ledger.FindingChange{Op: ledger.Update, State: near},
			ledger.FindingChange{Op: ledger.Update, State: waits}, ledger.FindingChange{Op: ledger.Delete, State: gone})
		f.counts(t, ledger.FindingCount{Warehouse: "119241", Firing: 1}, ledger.FindingCount{Warehouse: "119242", Firing: 2})
		f.forget(t)
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

func (f *base) counts(t testing.TB, want ...ledger.FindingCount) {
	t.Helper()
	got, err := f.CountFindings(t.Context())
	noError(t, err)
	equal(t, want, got)
}
