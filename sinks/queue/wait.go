package queue

import (
	"container/list"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/item"
)

// Step applies the operations, then leases up to s.Max items. While there are none it waits, at most for s.Wait: it is woken by
// hints, and since a hint may be lost it also asks when the next item is due and every 5 s. Where the context ends while it
// waits, the error is the context's, and the results of the operations come with it.
//
// The errors are recovery.ErrUnavailable, item.InvalidError and the context's.
func (q *Queue) Step(ctx context.Context, s item.Step) (item.Stepped, error) {
	l := q.line(s.Test)
	if s.Max == 0 || s.Wait <= 0 {
		out, _, err := q.ask(ctx, l, s)
		return out, err
	}
	w := l.waiters.enter(&s.Caller) // before it asks, so that no hint comes in between
	defer l.waiters.leave(w)
	over := time.NewTimer(s.Wait)
	defer over.Stop()
	out, answered, err := q.ask(ctx, l, s)
	if err != nil || answered {
		w.pass(isFilled(out.Items, s.Max))
		return out, err
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.woken:
		case <-tick.C:
		case <-over.C:
			if s.RequestID == "" {
				return out, nil
			}
			// The request is over for its copies, too: one that still waits although its caller has hung up would be given items
			// that nobody asks for any more.
			s.Wait = 0
		case <-ctx.Done():
			return out, ctx.Err()
		}
		more, answered, err := q.ask(ctx, l, again(s))
		out.Items = more.Items
		if answered {
			w.pass(isFilled(out.Items, s.Max))
			return out, nil
		}
		if err != nil {
			w.pass(ctx.Err() != nil) // what it was woken for may be there for another
			if len(out.Results) > 0 && ctx.Err() == nil {
				err = nil // what was done must be told, whatever becomes of the rest
			}
			return out, err
		}
	}
}

// largeAnswer is so many bytes of payloads that step.lua may have leased less than was asked for, and left more.
const largeAnswer = 2 << 20

// isFilled tells whether more may be ready than a call was given.
func isFilled(items []item.Lease, most int) bool {
	bytes := 0
	for i := range items {
		bytes += len(items[i].Payload)
	}
	return len(items) == most || bytes >= largeAnswer
}

// again is the step of one who waits on. With a request id it is the same call: its operations are answered as before, and an
// answer without items is completed. Without one they must not be repeated.
func again(s item.Step) item.Step {
	if s.RequestID == "" {
		s.Ops = nil
	}
	return s
}

// ask is one call of the script. It is answered when there are items, or will be none.
func (q *Queue) ask(ctx context.Context, l *queueLine, s item.Step) (out item.Stepped, answered bool, err error) {
	out, hint, err := q.stepOnce(ctx, s)
	if err != nil {
		return out, false, err
	}
	if hint.next >= 0 {
		l.waiters.in(hint.next)
	}
	return out, len(out.Items) > 0 || hint.over || s.Wait <= 0, nil
}

// listen passes hints on until the context ends. When a subscription begins, or begins anew, one of each kind of those who wait is woken:
// whatever was published before it is lost.
func (q *Queue) listen(ctx context.Context) {
	channels := map[string]*queueLine{}
	names := make([]string, 0, len(q.lines))
	for _, l := range q.lines {
		channels[l.keys.hints()] = l
		names = append(names, l.keys.hints())
	}
	sub := q.o.Client.Subscribe(ctx, names...)
	defer func() { _ = sub.Close() }()
	messages := sub.ChannelWithSubscriptions()
	for {
		select {
		case m, ok := <-messages:
			if !ok {
				return
			}
			q.hinted(channels, m)
		case <-ctx.Done():
			return
		}
	}
}

func (q *Queue) hinted(channels map[string]*queueLine, message any) {
	switch m := message.(type) {
	case *redis.Subscription:
		if l := channels[m.Channel]; l != nil {
			l.waiters.wake(everyKind, "")
		}
	case *redis.Message:
		l := channels[m.Channel]
		if l == nil {
			return
		}
		if m.Payload == "" { // an epoch has begun
			q.keeper.CheckNow()
			return
		}
		_, rest, some := strings.Cut(m.Payload, " ")
		if !some { // something is due soon
			l.waiters.wakeAny()
			return
		}
		name, worker, _ := strings.Cut(rest, " ")
		l.waiters.wake(name, worker)
	}
}

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
