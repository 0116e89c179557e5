package engine_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/engine"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/row"
	"tallyman/scanners"
)

const m = time.Minute

func TestBadRowBecomesNoticeAndResolves(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start(w.options("a"))
		w.set(stock("A-01", -3), stock("A-02", 7))
		pass(6 * m)
		w.set(stock("A-01", 0), stock("A-02", 7))
		pass(5 * m)

		opened := time.Date(2000, 1, 1, 0, 5, 0, 0, time.UTC)
		episode := "946685100000000"
		firing := &notice.Notice{
			ID:   notice.ID("negative-bin-stock", "119240", `["A-01"]`, episode, notice.Firing, 0),
			Type: "REP_NOTICE", TypeID: 124719, Warehouse: "119240", Rule: "negative-bin-stock", Scope: "119240",
			Key: `["A-01"]`, Episode: episode, Status: notice.Firing, Priority: 3, Modal: "popup",
			Title: "Bin A-01 is at -3", Body: "Replenish A-01.",
			Texts:  map[string]notice.Text{"zh": {Title: "货位 A-01 库存 -3", Body: "Replenish A-01."}},
			Data:   []notice.Field{{Name: "bin", Value: "A-01"}, {Name: "qty", Value: "-3"}},
			Labels: map[string]string{"area": "replenishment"}, Count: 1,
			CreatedAt: opened, ExpiresAt: opened.Add(time.Hour),
		}
		resolved := *firing
		resolved.ID = notice.ID("negative-bin-stock", "119240", `["A-01"]`, episode, notice.Resolved, 0)
		resolved.Status, resolved.Modal, resolved.Title = notice.Resolved, "silent", "Resolved: Bin A-01 is at -3"
		resolved.Texts = map[string]notice.Text{"zh": {Title: "已解除：货位 A-01 库存 -3", Body: "Replenish A-01."}}
		resolved.CreatedAt, resolved.ExpiresAt = opened.Add(5*m), opened.Add(5*m+time.Hour)
		if diff := cmp.Diff([]*notice.Notice{firing, &resolved}, w.notices()); diff != "" {
			t.Error(diff)
		}

		runs := w.ledger.Runs()
		if len(runs) != 2 {
			t.Fatalf("runs: %+v", runs)
		}
		want := ledger.Run{
			Rule: "negative-bin-stock", Scope: "119240", Due: opened, Node: "a", Started: opened,
			Outcome: ledger.OutcomeOK, Rows: 2, Matched: 1, Firing: 1, Notices: 1,
		}
		if diff := cmp.Diff(want, runs[0]); diff != "" {
			t.Error(diff)
		}
	})
}

func TestObserverHearsOfEverything(t *testing.T) {
	inWorld(t, func(w *world) {
		o := w.options("a")
		heard := &observer{}
		o.Observer = heard
		w.rules[0].Schedule.Jitter = 20 * time.Second
		w.start(o)
		w.set(stock("A-01", -3))
		pass(6 * m)
		w.set()
		pass(5 * m)
		w.ledger.Subscribers = nil
		w.set(stock("A-02", -3))
		pass(5 * m)
		runs := heard.list()
		deliveries := 0 // another loop tells them, before the run's own words or after
		runs = slices.DeleteFunc(runs, func(word string) bool {
			if word == "sent inbox 1" {
				deliveries++
				return true
			}
			return false
		})
		want := []string{
			"lag 0s", "notice REP_NOTICE firing", "run ok 1 notices 0 unsubscribed",
			"lag 0s", "notice REP_NOTICE resolved", "run ok 1 notices 0 unsubscribed",
			"lag 0s", "notice REP_NOTICE firing", "run ok 1 notices 1 unsubscribed",
		}
		if diff := cmp.Diff(want, runs); diff != "" || deliveries != 2 {
			t.Errorf("%d deliveries %s", deliveries, diff)
		}
	})
}

func TestFailuresAreLoudAndLocal(t *testing.T) {
	inWorld(t, func(w *world) {
		var fault cell[error]
		w.source.Rows = rowsOr(w, &fault)
		w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(6 * m)
		fault.set(&scanners.Error{Code: scanners.CodeTimeout, Transient: true, Err: errors.New("5s")})
		pass(5 * m)
		fault.set(errPanic)
		pass(5 * m)
		fault.set(nil)
		many := make([][]row.Value, 10001)
		for i := range many {
			many[i] = stock("B", 1)
		}
		w.set(many...)
		pass(5 * m)
		w.set(stock("A-01", -3))
		pass(5 * m)

		want := []ledger.Outcome{ledger.OutcomeOK, ledger.OutcomeFailed, ledger.OutcomeFailed, ledger.OutcomeFailed, ledger.OutcomeOK}
		if got := w.outcomes(); !slices.Equal(got, want) {
			t.Errorf("outcomes %v, want %v", got, want)
		}
		for i, code := range []string{"", "probe_timeout: 5s", "panic: at row 1", "too_many_rows: the probe returns more than 10000 rows", ""} {
			run := w.ledger.Runs()[i]
			if !strings.HasPrefix(run.Error, code) || run.Firing != 1 {
				t.Errorf("run %d: error %q, %d firing", i, run.Error, run.Firing)
			}
		}
		if got := w.told(); len(got) != 1 {
			t.Errorf("told %v: the finding should have lived on", got)
		}
	})
}

func TestRowsThatCannotBeJudged(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].Notice.Warehouse = "bin_code"
		n := w.start(w.options("a"))
		w.set(stock("A-01", -1), stock("not a warehouse!", -1), stock("A-01", -5))
		pass(6 * m)
		run := w.ledger.Runs()[0]
		if run.Outcome != ledger.OutcomeDegraded || run.Matched != 2 || run.Errored != 1 || run.Notices != 1 || run.Firing != 1 || len(run.Samples) != 2 {
			t.Errorf("%+v", run)
		}
		if len(w.inbox.Taken("A-01")) != 1 {
			t.Errorf("the row that could be judged was not told")
		}
		pass(5 * m)
		if sum := status(t, n).RunSum; sum.Runs != 2 || sum.Rows != 6 || sum.Errored != 2 {
			t.Errorf("%+v", sum)
		}
	})
}

func TestUnverifiedRuleIsRetried(t *testing.T) {
	inWorld(t, func(w *world) {
		w.source.Break(&scanners.Error{Code: scanners.CodeUnreachable, Transient: true, Err: errors.New("connection refused")})
		n := w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(7 * m)
		s := status(t, n)
		if s.Verified || s.Reason != "source_unreachable: connection refused" || !s.NextDue.IsZero() || len(w.ledger.Runs()) != 0 {
			t.Errorf("unreachable: %+v", s)
		}
		w.source.Break(nil)
		pass(2 * m)
		s = status(t, n)
		if !s.Verified || s.Reason != "" || !s.NextDue.Equal(time.Date(2000, 1, 1, 0, 10, 0, 0, time.UTC)) {
			t.Errorf("reachable: %+v", s)
		}
		pass(2 * m)
		if s = status(t, n); s.LastRun == nil || len(w.told()) != 1 {
			t.Errorf("not run: %+v", s)
		}
	})
}

func TestRefusedStatementIsVerifiedAnew(t *testing.T) {
	inWorld(t, func(w *world) {
		var fault cell[error]
		w.source.Rows = rowsOr(w, &fault)
		n := w.start(w.options("a"))
		pass(6 * m)
		fault.set(&scanners.Error{Code: scanners.CodeStatement, Err: errors.New("no such column: qty")})
		w.source.Break(fault.get())
		pass(6 * m) // the run fails, the next one finds the rule unverified
		pass(4 * m)
		if s := status(t, n); s.Verified || s.LastRun.Outcome != ledger.OutcomeFailed || !strings.Contains(s.Reason, "no such column") {
			t.Errorf("%+v", s)
		}
		fault.set(nil)
		w.source.Break(nil)
		pass(5 * m)
		if s := status(t, n); !s.Verified || s.LastRun.Outcome != ledger.OutcomeOK {
			t.Errorf("%+v", s)
		}
	})
}

func TestChangedTypesAreInForceForTheNextRun(t *testing.T) {
	inWorld(t, func(w *world) {
		n := w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(6 * m)
		renamed := repNotice
		renamed.ID = 5
		w.ledger.SetTypes(renamed)
		w.set(stock("A-02", -3))
		pass(5 * m)
		if got := w.notices(); len(got) != 3 || got[1].TypeID != 5 {
			t.Errorf("%+v", got)
		}
		w.ledger.SetTypes(catalog.Type{Code: "OTHER", ID: 1})
		pass(5 * m)
		if s := status(t, n); s.Verified || !strings.Contains(s.Reason, "REP_NOTICE") {
			t.Errorf("%+v", s)
		}
		w.ledger.SetTypes(repNotice)
		pass(5 * m)
		if s := status(t, n); !s.Verified {
			t.Errorf("%+v", s)
		}
	})
}

func TestDisabledRuleIsShownAndDoesNotRun(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].Enabled = false
		o := w.options("a")
		o.Complete = true
		n := w.start(o)
		pass(30 * m)
		if s := status(t, n); s.Verified || s.Reason != "" || len(w.ledger.Runs()) != 0 {
			t.Errorf("%+v", s)
		}
		if !w.ledger.Known()[ledger.ScopeKey("negative-bin-stock", "119240")] {
			t.Errorf("a disabled rule keeps its state, but Removed was told %v", w.ledger.Known())
		}
	})
}

func TestJanitorPrunes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start(w.options("a"))
		pass(150 * m)
		want := time.Date(2000, 1, 1, 2, 1, 0, 0, time.UTC).Add(-90 * 24 * time.Hour)
		if got := w.ledger.Pruned(); len(got) != 3 || !got[2].Equal(want) {
			t.Errorf("pruned %v, want until %v", got, want)
		}
	})
}

// TestWhatCannotBePrunedIsTold: the node says so until it can prune again.
func TestWhatCannotBePrunedIsTold(t *testing.T) {
	inWorld(t, func(w *world) {
		full := errors.New("the disk is full")
		var mended atomic.Bool
		w.ledger.Fail = func(call string) error {
			if call == "Prune" && !mended.Load() {
				return full
			}
			return nil
		}
		e := w.start(w.options("a"))
		pass(2 * m)
		if err := e.Unpruned(); !errors.Is(err, full) {
			t.Errorf("it says %v", err)
		}
		mended.Store(true)
		pass(60 * m)
		if err := e.Unpruned(); err != nil {
			t.Errorf("it says %v and could prune", err)
		}
	})
}

func TestNewRefusesNegativeDurationsAndCounts(t *testing.T) {
	inWorld(t, func(w *world) {
		for name, negative := range map[string]func(*engine.Options){
			"Lease":       func(o *engine.Options) { o.Lease = -1 },
			"StopGrace":   func(o *engine.Options) { o.StopGrace = -1 },
			"Retention":   func(o *engine.Options) { o.Retention = -1 },
			"ForgetAfter": func(o *engine.Options) { o.ForgetAfter = -1 },
			"Workers":     func(o *engine.Options) { o.Workers = -1 },
			"PerSink":     func(o *engine.Options) { o.PerSink = -1 },
			"KeepRuns":    func(o *engine.Options) { o.KeepRuns = -1 },
		} {
			o := w.options("a")
			negative(&o)
			if _, err := engine.New(o); err == nil || !strings.Contains(err.Error(), "negative") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestNewRefuses(t *testing.T) {
	inWorld(t, func(w *world) {
		o := w.options("no name!")
		o.Ledger = nil
		o.Lease = -1
		other := negativeStock()
		other.Source, other.Deliver = "nowhere", []deliver.Entry{{Sink: "void"}}
		o.Rules = append(o.Rules, other)
		_, err := engine.New(o)
		for _, part := range []string{"no ledger", `"no name!"`, "negative", "twice", `source "nowhere"`, `sink "void"`} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v does not tell of %s", err, part)
			}
		}
	})
}
