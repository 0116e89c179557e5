package queue

import (
	"container/list"
	"sync"
	"time"
)

// waiters holds the calls of this process that wait for items of one line, the longest first. One is woken at a time: it asks,
// and when its answer says that more is ready it wakes the next, so that a single item does not have everybody ask.
type waiters struct {
	mu    sync.Mutex
	here  list.List // of *waiter
	due   time.Time // when the timer fires; zero = it does not
	timer *time.Timer
}

type waiter struct {
	worker string
	woken  chan struct{} // holds one token: there may be something
	place  *list.Element // in waiters.here
}

// enter puts a call at the end. It must leave.
func (ws *waiters) enter(worker string) *waiter {
	w := &waiter{worker: worker, woken: make(chan struct{}, 1)}
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
		ws.next(w.worker)
		ws.next("")
	default:
	}
}

// wake has one call ask: of the worker that is named, else the one that waits longest.
func (ws *waiters) wake(worker string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.next(worker)
}

// next wakes the first that was not woken yet, of the worker that is named if one is.
func (ws *waiters) next(worker string) {
	for e := ws.here.Front(); e != nil; e = e.Next() {
		w := e.Value.(*waiter)
		if worker != "" && w.worker != worker {
			continue
		}
		if w.wake() {
			return
		}
	}
}

// wake gives the waiter its token. One that has it will ask anyway, and may take no more than one item.
func (w *waiter) wake() bool {
	select {
	case w.woken <- struct{}{}:
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
	defer ws.mu.Unlock()
	ws.due = time.Time{}
	ws.next("")
}
