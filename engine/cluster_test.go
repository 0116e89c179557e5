package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/engine/enginetest"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// slow makes every scan take d, or end with its context.
func slow(w *world, d time.Duration) *cell[time.Duration] {
	takes := &cell[time.Duration]{v: d}
	w.source.Rows = func(ctx context.Context, _ scanners.Request) ([][]row.Value, error) {
		rows := w.current()
		return rows, enginetest.Sleep(ctx, takes.get())
	}
	return takes
}

// dues lists the runs as "minute outcome".
func (w *world) dues() (list []string) {
	midnight := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, run := range w.ledger.Runs() {
		list = append(list, fmt.Sprintf("%v %s", run.Due.Sub(midnight).Minutes(), run.Outcome))
	}
	return list
}

func (w *world) wantDues(want ...string) {
	w.t.Helper()
	if got := w.dues(); !slices.Equal(got, want) {
		w.t.Errorf("runs %q, want %q", got, want)
	}
}

func TestOverlapSkips(t *testing.T) {
	inWorld(t, func(w *world) {
		slow(w, 12*m)
		w.start(w.options("a"))
		pass(33 * m)
		w.wantDues("5 ok", "15 skipped", "20 ok", "30 skipped")
	})
}

// TestSkippedFiringsAreRecordedEvenLate: the ledger is out of reach while firings are skipped. They are recorded before
// the next firing runs.
func TestSkippedFiringsAreRecordedEvenLate(t *testing.T) {
	inWorld(t, func(w *world) {
		slow(w, 12*m)
		var failures atomic.Int64
		w.ledger.Fail = func(method string) error {
			if method == "Skip" && failures.Add(1) < 4 {
				return errChaos
			}
			return nil
		}
		w.start(w.options("a"))
		pass(33 * m)
		w.wantDues("5 ok", "15 skipped", "20 ok", "30 skipped")
	})
}

// A node is about to record two skipped firings, and another node is faster and claims the later one. The earlier one
// is recorded, unless the ledger is past it by then. No line says that the later one was skipped.
func TestSkippedFiringsBeforeAnotherNodesFiring(t *testing.T) {
	for name, c := range map[string]struct {
		commits bool
		want    []string
		line    string
	}{
		"it runs":    {false, []string{"5 ok", "10 skipped"}, "level=WARN msg=\"Firings were skipped: the firing before was still running.\""},
		"it has run": {true, []string{"5 ok", "15 ok"}, "level=INFO msg=\"Firings were skipped: the firing before was still running. Another node has recorded them already"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				slow(w, 12*m)
				var once sync.Once
				w.ledger.Fail = func(method string) error {
					if method == "Skip" {
						once.Do(func() { w.runElsewhere(15*m, c.commits) })
					}
					return nil
				}
				var log bytes.Buffer
				o := w.options("a")
				o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				n := w.start(o)
				pass(18 * m)
				n.stop()
				w.wantDues(c.want...)
				var lines []string
				for line := range strings.Lines(log.String()) {
					if strings.Contains(line, "Firings were skipped") {
						lines = append(lines, line)
					}
				}
				if len(lines) != 1 || !strings.Contains(lines[0], c.line) || !strings.Contains(lines[0], " skipped=1 latest=2000-01-01T00:10:00") {
					t.Errorf("logged %q, want %s", lines, c.line)
				}
			})
		})
	}
}

// runElsewhere has a node without an engine claim the firing that is due after so long, and commit it.
func (w *world) runElsewhere(due time.Duration, commits bool) {
	w.t.Helper()
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(due)
	r := w.rules[0]
	claim, err := w.ledger.Claim(w.t.Context(), r.ID, r.Scope, 0, at, "b", time.Hour)
	if err == nil && commits {
		run := ledger.Run{Rule: r.ID, Scope: r.Scope, Due: at, Node: "b", Started: time.Now(), Outcome: ledger.OutcomeOK}
		_, err = w.ledger.Commit(w.t.Context(), claim, &ledger.Commit{Run: run, Scope: finding.Scope{LastDue: at}})
	}
	if err != nil {
		w.t.Error(err)
	}
}

func TestOverlapQueuesOne(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].Schedule.Overlap = rules.OverlapQueue
		slow(w, 12*m)
		w.start(w.options("a"))
		pass(42 * m)
		w.wantDues("5 ok", "15 ok", "25 ok")
	})
}

func TestOverlapOnAnotherNode(t *testing.T) {
	inWorld(t, func(w *world) {
		slow(w, 12*m)
		w.start(w.options("a"))
		w.start(w.options("b"))
		pass(33 * m)
		w.wantDues("10 skipped", "15 skipped", "5 ok", "25 skipped", "30 skipped", "20 ok") // as they were recorded
	})
}

func TestCatchUp(t *testing.T) {
	for policy, want := range map[rules.CatchUp][]string{
		rules.CatchUpNone: {"5 ok", "25 ok"},
		rules.CatchUpOnce: {"5 ok", "20 ok", "25 ok"},
		rules.CatchUpAll:  {"5 ok", "10 ok", "15 ok", "20 ok", "25 ok"},
	} {
		t.Run(string(policy), func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.rules[0].Schedule.CatchUp = policy
				a := w.start(w.options("a"))
				pass(6 * m)
				a.stop()
				pass(16 * m)
				w.start(w.options("a"))
				pass(4 * m)
				w.wantDues(want...)
			})
		})
	}
}

func TestTwoNodesRunEachFiringOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules = nil
		for i := range 20 {
			r := negativeStock()
			r.Scope = fmt.Sprint(119240 + i)
			r.Schedule.Jitter = 10 * time.Second
			w.rules = append(w.rules, r)
		}
		slow(w, time.Second)
		w.set(stock("A-01", -3))
		w.start(w.options("a"))
		w.start(w.options("b"))
		pass(60*m + 30*time.Second)
		seen := map[string]int{}
		nodes := map[string]int{}
		for _, run := range w.ledger.Runs() {
			seen[run.Scope+run.Due.String()]++
			nodes[run.Node]++
			if run.Outcome != ledger.OutcomeOK {
				t.Errorf("%+v", run)
			}
		}
		for firing, n := range seen {
			if n != 1 {
				t.Errorf("%s ran %d times", firing, n)
			}
		}
		if len(seen) != 20*12 || nodes["a"] == 0 || nodes["b"] == 0 {
			t.Errorf("%d firings by %v", len(seen), nodes)
		}
		for i := range 20 {
			if got := w.inbox.Taken(fmt.Sprint(119240 + i)); len(got) != 1 {
				t.Errorf("scope %d was told %d times", i, len(got))
			}
		}
	})
}

func TestLongRunKeepsItsLease(t *testing.T) {
	inWorld(t, func(w *world) {
		slow(w, 4*m) // eight times the lease
		w.start(w.options("a"))
		w.start(w.options("b"))
		pass(10 * m)
		w.wantDues("5 ok")
	})
}

func TestLostLeaseIsAbandonedQuietly(t *testing.T) {
	inWorld(t, func(w *world) {
		slow(w, 2*m)
		w.set(stock("A-01", -3))
		w.start(w.options("a"))
		pass(5*m + 10*time.Second)
		c := w.ledger.Steal("negative-bin-stock", "119240", "z", time.Minute)
		pass(30 * time.Second) // a renewal finds out
		if len(w.ledger.Runs()) != 0 || len(w.told()) != 0 {
			t.Errorf("a fenced run was committed: %v", w.ledger.Runs())
		}
		// z dies, too. When its lease is over, a repeats the very same firing.
		pass(3*m + 30*time.Second)
		runs := w.ledger.Runs()
		if len(runs) != 1 || !runs[0].Due.Equal(c.Due) || runs[0].Node != "a" || len(w.told()) != 1 {
			t.Errorf("runs %+v, told %v", runs, w.told())
		}
	})
}

func TestDeadNodesFiringIsRepeatedBeforeItsNextDueTime(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].Schedule.Cron = "5 0 * * *"
		w.set(stock("A-01", -3))
		if _, err := w.ledger.Register(t.Context(), "negative-bin-stock", "119240", 0, time.Now()); err != nil {
			t.Fatal(err)
		}
		w.start(w.options("a"))
		pass(4 * m)
		due := time.Date(2000, 1, 1, 0, 5, 0, 0, time.UTC)
		if _, err := w.ledger.Claim(t.Context(), "negative-bin-stock", "119240", 0, due, "dead", 2*m); err != nil {
			t.Fatal(err)
		}
		pass(3 * m)
		w.wantDues("5 ok")
		if len(w.told()) != 1 {
			t.Errorf("told %v", w.told())
		}
	})
}

func TestGracefulStopFinishes(t *testing.T) {
	inWorld(t, func(w *world) {
		slow(w, 8*time.Second)
		w.set(stock("A-01", -3))
		a := w.start(w.options("a"))
		pass(5*m + time.Second)
		began := time.Now()
		a.stop()
		w.wantDues("5 ok")
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("stopped after %v", took)
		}
		if left, _ := w.ledger.Abandoned(t.Context()); len(left) != 0 {
			t.Errorf("left %v", left)
		}
		if w.ledger.Unsent() != 0 || len(w.told()) != 1 {
			t.Errorf("what the last run committed was left undelivered: told %v", w.told())
		}
	})
}

func TestGracefulStopGivesBack(t *testing.T) {
	inWorld(t, func(w *world) {
		takes := slow(w, 3*m)
		w.set(stock("A-01", -3))
		a := w.start(w.options("a"))
		pass(5*m + time.Second)
		began := time.Now()
		a.stop()
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("stopped after %v", took)
		}
		w.wantDues()
		takes.set(0)
		w.start(w.options("b")) // takes it up at once, not when the lease is over
		pass(time.Second)
		w.wantDues("5 ok")
	})
}

func TestLedgerOutageIsWaitedFor(t *testing.T) {
	inWorld(t, func(w *world) {
		var away cell[error]
		w.ledger.Fail = func(string) error { return away.get() }
		w.set(stock("A-01", -3))
		w.start(w.options("a"))
		pass(4 * m)
		away.set(errors.New("connection refused"))
		pass(18 * m)
		away.set(nil)
		pass(10 * time.Second)
		w.wantDues("20 ok") // catch_up: once
		pass(3 * m)
		w.wantDues("20 ok", "25 ok")
		if len(w.told()) != 1 {
			t.Errorf("told %v", w.told())
		}
	})
}

func TestCommitIsTriedAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		fails := 0
		w.ledger.Fail = func(method string) error {
			if method == "Commit" && fails < 3 {
				fails++
				return errors.New("connection reset")
			}
			return nil
		}
		w.set(stock("A-01", -3))
		w.start(w.options("a"))
		pass(6 * m)
		w.wantDues("5 ok")
	})
}

func TestRefusedRecordBecomesFailedRun(t *testing.T) {
	inWorld(t, func(w *world) {
		fails := 0
		w.ledger.Fail = func(method string) error {
			if method == "Commit" && fails < 5 {
				fails++
				return errors.New("invalid byte sequence")
			}
			return nil
		}
		w.set(stock("A-01", -3))
		w.start(w.options("a"))
		pass(6 * m)
		runs := w.ledger.Runs()
		if len(runs) != 1 || runs[0].Error != "commit_refused: invalid byte sequence" || len(w.told()) != 0 {
			t.Fatalf("%+v", runs)
		}
		pass(5 * m)
		if len(w.told()) != 1 {
			t.Errorf("the next run told %v", w.told())
		}
	})
}

// A node that joins while another node is busy with a firing goes on after that firing, in every scope. Firings that
// are due then are not skipped because of the long wait.
func TestANodeThatJoinsDuringALongRunLeavesNothingOutAfterIt(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules = nil
		for i := range 20 {
			r := negativeStock()
			r.Scope, r.Schedule.Cron = fmt.Sprint(119240+i), "* * * * * *"
			w.rules = append(w.rules, r)
		}
		takes := slow(w, 20*time.Second+300*time.Millisecond)
		options := func(node string) engine.Options {
			o := w.options(node)
			o.PerSource = map[string]int{"wms": 20}
			return o
		}
		a := w.start(options("a"))
		pass(3 * time.Second)
		w.start(options("b"))
		pass(10 * time.Second)
		takes.set(0)
		pass(5 * time.Second)
		a.stop()
		pass(10 * time.Second)
		last := map[string]time.Time{}
		for _, run := range w.ledger.Runs() {
			if before := last[run.Scope]; !before.IsZero() && run.Outcome == ledger.OutcomeOK && run.Due.Sub(before) != time.Second {
				t.Errorf("after %v scope %s ran %v", before, run.Scope, run.Due)
			}
			last[run.Scope] = run.Due
		}
	})
}
