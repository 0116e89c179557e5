package commits

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/ledger"
)

var errFull = errors.New("disk full")

// server is a database that accepts or refuses tries.
type server struct {
	fails error // error of each try; nil = accepted
	tried int
}

func (s *server) TryCommit(context.Context) error { s.tried++; return s.fails }

func (s *server) Refusal(err error) (ledger.Refusal, bool) {
	return ledger.Refusal{Reason: ledger.RefusedDiskFull, Code: "SQLSTATE 53100"}, errors.Is(err, errFull)
}

// inWatch runs a test in a synctest bubble, with a Watch that runs.
func inWatch(t *testing.T, test func(s *server, w *Watch, counted map[ledger.RefusalReason]int)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, counted := &server{}, map[ledger.RefusalReason]int{}
		w := New(Options{Ledger: s, Refused: func(r ledger.RefusalReason) { counted[r]++ }, Logger: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.Run(ctx) }()
		test(s, w, counted)
		cancel()
		<-done
	})
}

func after(d time.Duration) { time.Sleep(d); synctest.Wait() } //nolint:forbidigo // the bubble's clock

// is checks that a fault contains a text; "" = no fault.
func is(t *testing.T, what string, got error, want string) {
	t.Helper()
	if (got == nil) != (want == "") || got != nil && !strings.Contains(got.Error(), want) {
		t.Errorf("%s: %v, want %q", what, got, want)
	}
}

func TestWhileAllIsWellNothingIsTried(t *testing.T) {
	inWatch(t, func(s *server, w *Watch, _ map[ledger.RefusalReason]int) {
		for range 100 {
			w.noteEnd(Runs, nil)
			w.noteEnd(Runs, ledger.ErrFenced)                 // an answer
			w.noteEnd(Runs, context.Canceled)                 // the node stops
			w.noteEnd(Runs, errors.New("connection refused")) // out of reach
			after(time.Second)
		}
		is(t, "well", w.Fault(), "")
		if s.tried != 0 {
			t.Errorf("%d tries", s.tried)
		}
	})
}

// If the ledger refuses the record of one rule, the node can still commit. Fault reports the refusal for another
// minute.
func TestRefusalOfOneRecord(t *testing.T) {
	inWatch(t, func(s *server, w *Watch, counted map[ledger.RefusalReason]int) {
		w.noteEnd(Runs, nil)
		after(time.Second)
		for range 5 {
			w.noteEnd(Runs, errFull)
			after(3 * time.Second)
			is(t, "while it is refused", w.Blocked(), "")
			w.noteEnd(Marks, nil) // other work does not close the refusal of runs
			is(t, "while it is refused", w.Fault(), "runs: ")
		}
		is(t, "all of it", w.Fault(), "runs: commits refused since 2000-01-01T00:00:01Z: 5; last refusal at 2000-01-01T00:00:13Z; the last commit was at 2000-01-01T00:00:00Z; reason: the disk of the ledger is full: make room on it (SQLSTATE 53100)")
		w.noteEnd(Runs, nil)
		tried := s.tried
		after(56 * time.Second) // less than a minute after the last refusal
		is(t, "taken again", w.Fault(), "runs: commits refused since 2000-01-01T00:00:01Z: 5")
		after(2 * time.Second)
		is(t, "a minute later", w.Fault(), "")
		if tried == 0 || s.tried != tried || counted[ledger.RefusedDiskFull] != 5 {
			t.Errorf("%d tries, %d after the ledger took it; counted %v", tried, s.tried, counted)
		}
		w.noteEnd(Runs, errFull)
		is(t, "counted anew", w.Fault(), "runs: commits refused since 2000-01-01T00:01:14Z: 1")
	})
}

// If the ledger refuses everything, the node is blocked until a try succeeds. A small change that works meanwhile
// does not end that.
func TestNothingCanBeCommitted(t *testing.T) {
	inWatch(t, func(s *server, w *Watch, _ map[ledger.RefusalReason]int) {
		s.fails = errFull
		w.noteEnd(Presence, errFull)
		is(t, "at once", w.Blocked(), "")
		after(tryEvery)
		is(t, "after one try", w.Blocked(), "")
		after(tryEvery)
		is(t, "after two", w.Blocked(), "nothing can be committed since 2000-01-01T00:00:10Z: the disk of the ledger is full")
		for range 50 {
			w.noteEnd(Presence, nil)
			w.noteEnd(Runs, nil)
			after(time.Second)
			is(t, "a small change goes through", w.Blocked(), "nothing can be committed since 2000-01-01T00:00:10Z")
		}
		s.fails = errors.New("connection refused") // the server is restarted
		after(time.Minute)
		is(t, "out of reach", w.Blocked(), "nothing can be committed since 2000-01-01T00:00:10Z")
		s.fails = nil
		after(tryEvery)
		is(t, "with room", w.Blocked(), "")
		is(t, "with room", w.Fault(), "")
		tried := s.tried
		after(time.Hour)
		if s.tried != tried {
			t.Errorf("%d more tries", s.tried-tried)
		}
	})
}

// A single refused try between two successful ones does not block the node.
func TestTriesHaveToBeRefusedInARow(t *testing.T) {
	inWatch(t, func(s *server, w *Watch, _ map[ledger.RefusalReason]int) {
		w.noteEnd(Runs, errFull)
		for i := range 20 {
			s.fails = nil
			if i%2 == 0 {
				s.fails = errFull
			}
			w.noteEnd(Runs, errFull)
			after(tryEvery)
			is(t, "now and then", w.Blocked(), "")
			is(t, "now and then", w.Fault(), "runs: ")
		}
	})
}

// Fault reports a refusal for at most a minute, if nobody tries the work again because its rule was removed or its
// client has left.
func TestRefusalThatNobodyTriesAgain(t *testing.T) {
	inWatch(t, func(_ *server, w *Watch, counted map[ledger.RefusalReason]int) {
		w.noteEnd(Sends, context.DeadlineExceeded)
		after(59 * time.Second)
		is(t, "for a minute", w.Fault(), "sends: commits refused since 2000-01-01T00:00:00Z: 1; last refusal at 2000-01-01T00:00:00Z; nothing was committed since the start; reason: the ledger did not answer in time")
		after(2 * tryEvery)
		is(t, "then", w.Fault(), "")
		if counted[ledger.RefusedTimeout] != 1 {
			t.Errorf("counted %v", counted)
		}
	})
}
