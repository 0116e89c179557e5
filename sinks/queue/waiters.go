package queue

import (
	"container/list"
	"sync"
	"time"

	"tallyman/internal/item"
)

// waiters holds the calls of this process that wait for items of one line, the longest first. One of those that may take what became
// ready is woken: it asks, and when it was given as much as it wanted it wakes the next for the same, so that a single item does not
// have everybody ask.
type waiters struct {
	mu    sync.Mutex
	here  list.List // of *waiter
	due   time.Time // when the timer fires; zero = it does not
	timer *time.Timer
}

// everyKind is the name of no warehouse: one call of each scope is woken.
const everyKind = "*"

type waiter struct {
	among  *waiters
	kind   string          // its scope as a text
	sees   map[string]bool // the warehouses, as scripts name them; nil = all
	names  [2]string       // of the worker and its subject; "" = there is none
	woken  chan struct{}   // holds one token: there may be something
	place  *list.Element   // in waiters.here
	causes map[string]bool // warehouses for which it was woken since it last passed them on
}

// enter puts a call at the end. It must leave.
func (ws *waiters) enter(c *item.Caller) *waiter {
	w := &waiter{among: ws, kind: scopeNames(c.Scope), names: [2]string{c.Name(), c.Subject}, woken: make(chan struct{}, 1), causes: map[string]bool{}}
	if c.Scope != nil {
		w.sees = make(map[string]bool, len(c.Scope))
		for _, warehouse := range c.Scope {
			w.sees[warehouseName(warehouse)] = true
		}
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.place = ws.here.PushBack(w)
	return w
}

// leave takes a call out. One that was woken and did not ask any more hands that on.
func (ws *waiters) leave(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.here.Remove(w.place)
	if ws.here.Len() == 0 && ws.timer != nil {
		ws.timer.Stop()
		ws.due = time.Time{}
	}
	select {
	case <-w.woken: // nobody knows whom it was for
		for _, name := range w.names {
			if name != "" {
				ws.next(everyKind, name, w)
			}
		}
		ws.passOn(w)
		if len(w.causes) == 0 {
			ws.any()
		}
	default:
	}
}

// pass ends what the call was woken for: where it was given as much as it wanted there may be more, for others.
func (w *waiter) pass(more bool) {
	w.among.mu.Lock()
	defer w.among.mu.Unlock()
	if more {
		w.among.passOn(w)
	}
	clear(w.causes)
}

// passOn wakes others for what the call was woken for.
func (ws *waiters) passOn(w *waiter) {
	for name := range w.causes {
		if name == everyKind {
			ws.nextOf(w)
		} else {
			ws.next(name, "", w)
		}
	}
}

// wake has one call ask that may take what became ready in the warehouse, as scripts name it: the one that waits longest, or one of
// the worker that is named. For everyKind it has one of each scope ask.
func (ws *waiters) wake(warehouse, worker string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if warehouse != everyKind || worker != "" {
		ws.next(warehouse, worker, nil)
		return
	}
	kinds := map[string]bool{}
	for e := ws.here.Front(); e != nil; e = e.Next() {
		w := e.Value.(*waiter)
		if kinds[w.kind] {
			continue
		}
		if w.wake(everyKind) {
			kinds[w.kind] = true
		}
	}
}

// wakeAny has one call ask, so that somebody knows what is due when.
func (ws *waiters) wakeAny() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.any()
}

func (ws *waiters) any() {
	for e := ws.here.Front(); e != nil; e = e.Next() {
		if e.Value.(*waiter).wake("") {
			return
		}
	}
}

// next wakes the first that was not woken yet, of those that see the warehouse, and of the worker that is named if one is; not the one who
// passes that on.
func (ws *waiters) next(warehouse, worker string, from *waiter) {
	for e := ws.here.Front(); e != nil; e = e.Next() {
		w := e.Value.(*waiter)
		switch {
		case w == from:
		case worker != "" && w.names[0] != worker && w.names[1] != worker:
		case warehouse != everyKind && w.sees != nil && !w.sees[warehouse]:
		case w.wake(warehouse):
			return
		}
	}
}

// nextOf wakes the first that was not woken yet of those that see the same as the call.
func (ws *waiters) nextOf(like *waiter) {
	for e := ws.here.Front(); e != nil; e = e.Next() {
		if w := e.Value.(*waiter); w != like && w.kind == like.kind && w.wake(everyKind) {
			return
		}
	}
}

// wake gives the waiter its token, and tells it for which warehouse, "" = for none. One that has a token will ask anyway, and may take
// no more than one item.
func (w *waiter) wake(warehouse string) bool {
	select {
	case w.woken <- struct{}{}:
		if warehouse != "" {
			w.causes[warehouse] = true
		}
		return true
	default:
		return false
	}
}

// soonest is the shortest pause before a due time: what is due already and was not taken back or promoted in one call comes
// with the next, and a clock that runs ahead of the server's asks no more often.
const soonest = 5 * time.Millisecond

// in has one call ask after that time, or earlier where that was said before.
func (ws *waiters) in(d time.Duration) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	d = max(d, soonest)
	due := time.Now().Add(d)
	if ws.here.Len() == 0 || !ws.due.IsZero() && !due.Before(ws.due) {
		return
	}
	ws.due = due
	if ws.timer == nil {
		ws.timer = time.AfterFunc(d, ws.ring)
		return
	}
	ws.timer.Reset(d)
}

func (ws *waiters) ring() {
	ws.mu.Lock()
	ws.due = time.Time{}
	ws.mu.Unlock()
	ws.wakeAny()
}
