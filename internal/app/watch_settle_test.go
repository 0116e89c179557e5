package app

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settling is a watch in a bubble, whose events the test makes up.
type settling struct {
	*folder
	events chan fsnotify.Event
	lost   chan error
	hangup chan os.Signal
	whys   []string
}

// settles runs a test in a bubble with a watch that looks every five seconds. before, if there is any, happens when the files were read and are not watched yet.
func settles(t *testing.T, before, test func(s *settling)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &settling{folder: newFolder(t), events: make(chan fsnotify.Event), lost: make(chan error), hangup: make(chan os.Signal)}
		w := &watch{paths: []string{s.at("rules")}, log: slog.New(slog.DiscardHandler), every: lookEvery, events: s.events, lost: s.lost}
		s.known = fingerprint(w.paths)
		if before != nil {
			before(s)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.run(ctx, s.hangup, s.seen, func(why string) {
			s.read(w)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.whys = append(s.whys, why)
		})
		test(s)
	})
}

// after lets time pass and checks how often the files were read by then.
func (s *settling) after(d time.Duration, what string, want int) {
	s.t.Helper()
	<-time.After(d) // of the bubble's clock
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := len(s.whys); got != want {
		s.t.Errorf("%s: read %d times, want %d", what, got, want)
	}
}

// event tells of the file.
func (s *settling) event() {
	s.events <- fsnotify.Event{Name: s.at("rules/stock.yaml"), Op: fsnotify.Write}
}

func TestManyChangesAreReadOnce(t *testing.T) {
	t.Parallel()
	settles(t, nil, func(s *settling) {
		for range 500 {
			s.event()
			<-time.After(time.Millisecond)
		}
		s.write("rules/stock.yaml", "2")
		s.event()
		s.after(settleFor-time.Millisecond, "they are given a moment", 0)
		s.after(2*time.Millisecond, "they have settled", 1)
		s.event()
		s.after(time.Second, "the same content", 1)
	})
}

// Who never stops writing does not keep others waiting.
func TestChangesWithoutAnEnd(t *testing.T) {
	t.Parallel()
	settles(t, nil, func(s *settling) {
		s.write("rules/stock.yaml", "2")
		for range 11 {
			s.event()
			<-time.After(settleFor / 2)
		}
		s.after(0, "a second after the first", 1)
	})
}

// A file that is being written when the watch looks is given the same moment.
func TestLookWaitsForWhatIsBeingWritten(t *testing.T) {
	t.Parallel()
	settles(t, nil, func(s *settling) {
		s.after(lookEvery-settleFor/2, "before the look", 0)
		s.write("rules/stock.yaml", "")
		s.event()
		s.after(settleFor/2+time.Millisecond, "at the look", 0)
		s.write("rules/stock.yaml", "2")
		s.event()
		s.after(settleFor+time.Millisecond, "it has settled", 1)
	})
}

func TestChangesThatNobodyTellsOf(t *testing.T) {
	t.Parallel()
	settles(t, nil, func(s *settling) {
		s.after(time.Second, "nothing has changed", 0)
		s.write("rules/stock.yaml", "2")
		s.after(lookEvery-time.Second+time.Millisecond, "found, and given a moment", 0)
		s.after(settleFor, "read", 1)
		s.write("rules/stock.yaml", "3")
		s.lost <- fsnotify.ErrEventOverflow
		s.after(settleFor+time.Millisecond, "events were lost", 2)
		s.write("rules/stock.yaml", "4")
		s.hangup <- os.Interrupt
		s.after(time.Millisecond, "a hangup waits for nothing", 3)
		if s.whys[2] != "hangup" {
			t.Errorf("%v", s.whys)
		}
	})
}

func TestChangesBeforeTheWatchBegins(t *testing.T) {
	t.Parallel()
	settles(t, func(s *settling) { s.write("rules/stock.yaml", "2") }, func(s *settling) {
		s.after(settleFor+time.Millisecond, "at the start", 1)
	})
}
