package push_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/sinks/push"
)

// tenure is the session of a node. The test ends it and begins another one.
type tenure struct {
	mu     sync.Mutex
	id     string // "" = there is none
	lapsed chan struct{}
	late   bool // The channel stays open, as that of a process that was frozen.
}

func newTenure(id string) *tenure {
	s := &tenure{}
	s.begin(id)
	return s
}

func (s *tenure) begin(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = id
	s.lapsed = nil
}

func (s *tenure) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = ""
	if !s.late && s.lapsed != nil {
		close(s.lapsed)
	}
}

func (s *tenure) Hold() (string, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lapsed == nil { // made by who asks, in whose bubble it belongs
		s.lapsed = make(chan struct{})
	}
	return s.id, s.lapsed
}

func (s *tenure) Holds(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return id == s.id
}

// A node whose session is not in force any more cuts its calls off, counts no attempt, gives back what it can, and
// claims nothing. With the next session it goes on.
func TestALostSessionEndsCallsAndClaims(t *testing.T) {
	t.Parallel()
	session := newTenure("one/1")
	change := func(o *push.Options) { o.Session, o.Concurrency, o.Timeout = session, 2, time.Minute }
	inBubble(t, change, hang, func(w *world) {
		for range 5 {
			w.commit("", important)
		}
		wait(time.Second)
		if calls := w.heard(); len(calls) != 2 {
			w.Fatalf("%d calls", len(calls))
		}
		session.lose()
		wait(time.Millisecond)
		for seq := range int64(5) {
			if r := w.row(seq + 1); r.attempts != 0 || r.state != pending {
				w.Errorf("%+v", r)
			}
		}
		w.nothingClaimed()
		asked := w.claims.Load()
		wait(time.Minute)
		if len(w.heard()) != 2 || w.claims.Load() != asked {
			w.Errorf("%d calls and %d claims without a session", len(w.heard()), w.claims.Load()-asked)
		}
		w.answer = nil
		session.begin("one/2")
		w.runner.Wake()
		wait(time.Millisecond)
		if got := w.states(); got[sent] != 5 {
			w.Errorf("%v", got)
		}
	})
}

// A node that was frozen finds its calls alive when it wakes. It asks before each call, and makes none under the
// session that it had.
func TestAFrozenNodeMakesNoCallUnderItsOldSession(t *testing.T) {
	t.Parallel()
	session := newTenure("one/1")
	session.late = true
	change := func(o *push.Options) {
		o.Session = session
		o.Step = func(step string) {
			if step == push.StepTrying {
				session.lose() // while it was frozen
			}
		}
	}
	inBubble(t, change, nil, func(w *world) {
		w.commit("", important)
		wait(time.Minute)
		if calls := w.heard(); len(calls) != 0 {
			w.Errorf("%d calls", len(calls))
		}
		if r := w.row(1); r.attempts != 0 || r.state != pending {
			w.Errorf("%+v", r)
		}
	})
}

// A delivery that was claimed under an ended session is not tried under the next one, because another node may have it.
func TestAClaimOfAnotherSessionIsNotTried(t *testing.T) {
	t.Parallel()
	session := newTenure("one/1")
	slow := true
	change := func(o *push.Options) {
		o.Session = session
		asksLate(o, func() bool { return slow })
	}
	answer := func(context.Context, []delivery.Delivery) error { return nil }
	inBubble(t, change, answer, func(w *world) {
		w.commit("", important)
		wait(time.Second) // the claim is on its way
		slow = false
		session.lose()
		wait(time.Second)
		session.begin("one/2")
		w.runner.Wake()
		wait(10 * time.Second)
		if r := w.row(1); len(r.settles) != 2 || r.settles[0] != delivery.SettleRelease || r.settles[1] != delivery.SettleSent || r.Token != 2 {
			w.Errorf("settled as %v under the token %d", r.settles, r.Token)
		}
	})
}
