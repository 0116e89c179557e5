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

// Step applies the operations, then leases up to s.Max items. If no item is ready, Step waits up to s.Wait. A hint
// wakes Step. Because a hint may get lost, Step also asks again when the next item is due, and every 5 s. If the
// context ends while Step waits, it returns the context's error together with the results of the operations.
//
// The errors are recovery.ErrUnavailable, item.InvalidError and the context's.
func (q *Queue) Step(ctx context.Context, s item.Step) (item.Stepped, error) {
	l := q.line(s.Test)
	if s.Max == 0 || s.Wait <= 0 {
		out, _, err := q.ask(ctx, l, s)
		return out, err
	}
	w := l.waiters.enter(&s.Caller) // before the first call, so that no hint is missed in between
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
			// Ask once more without waiting, so that the record says: this request is over. Otherwise a late copy of
			// the request could lease items although its caller has hung up.
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
			w.pass(ctx.Err() != nil) // the items for which this call was woken may suit another call
			if len(out.Results) > 0 && ctx.Err() == nil {
				err = nil // the operations were applied, so their results are returned even if the leases failed
			}
			return out, err
		}
	}
}

// largeAnswer is a size in bytes of payloads. At this size step.lua may have leased fewer items than asked for,
// although more are ready.
const largeAnswer = 2 << 20

// isFilled tells whether more items may be ready than the call has received.
func isFilled(items []item.Lease, most int) bool {
	bytes := 0
	for i := range items {
		bytes += len(items[i].Payload)
	}
	return len(items) == most || bytes >= largeAnswer
}

// again returns the step to repeat while waiting. With a request id the step stays the same: step.lua remembers the
// results of the operations, and may add items to an answer that had no items. Without a request id the step leaves out
// the operations, because they must not be repeated.
func again(s item.Step) item.Step {
	if s.RequestID == "" {
		s.Ops = nil
	}
	return s
}

// ask makes one call of step.lua. answered is true if the call has items, or will never get items.
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

// listen passes hints on until the context ends. When a subscription begins or begins again, hints may have been lost.
// So one waiting call of each scope is woken.
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

// waiters holds the calls of this process that wait for items of one line, oldest first. Each hint wakes one call that
// may lease the ready items. The woken call asks Redis. If the call gets as many items as it wanted, it wakes the next
// call. So a single item does not make all calls ask.
type waiters struct {
	mu    sync.Mutex
	here  list.List // of *waiter, oldest first
	due   time.Time // when the timer fires; zero means never
	timer *time.Timer
}

// everyKind stands for all warehouses: one call of each scope is woken.
const everyKind = "*"

type waiter struct {
	among  *waiters
	kind   string          // its scope as a text: calls of one kind see the same warehouses
	sees   map[string]bool // the warehouses of its scope, as scripts name them; nil means all
	names  [2]string       // of the worker and of its subject; empty means none
	woken  chan struct{}   // holds at most one token: there may be items
	place  *list.Element   // in waiters.here
	causes map[string]bool // warehouses for which the call was woken since it last passed the hint on
}

// enter adds a call at the end. The call must leave.
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

// leave removes a call. If the call was woken and does not ask any more, leave wakes other calls instead.
func (ws *waiters) leave(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.here.Remove(w.place)
	if ws.here.Len() == 0 && ws.timer != nil {
		ws.timer.Stop()
		ws.due = time.Time{}
	}
	select {
	case <-w.woken: // the token does not say whether the hint named this worker
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

// pass ends the turn of a call that was woken. If more is true, more items may be ready, so pass wakes other calls.
func (w *waiter) pass(more bool) {
	w.among.mu.Lock()
	defer w.among.mu.Unlock()
	if more {
		w.among.passOn(w)
	}
	clear(w.causes)
}

// passOn wakes other calls for the warehouses for which this call was woken.
func (ws *waiters) passOn(w *waiter) {
	for name := range w.causes {
		if name == everyKind {
			ws.nextOf(w)
		} else {
			ws.next(name, "", w)
		}
	}
}

// wake wakes one of the calls that may lease ready items of the warehouse: the call that has waited longest. If a
// worker is named, only calls of that worker count. For everyKind without a worker, one call of each scope is woken.
// Warehouses are named as in scripts.
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

// wakeAny wakes one call. The call's step makes due items ready, and returns the time until the next item is due.
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

// next wakes the first call that sees the warehouse and has no token yet. If a worker is named, only calls of that
// worker count. The call from, which passes the hint on, is left out.
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

// nextOf wakes the first other call of the same kind that has no token yet.
func (ws *waiters) nextOf(like *waiter) {
	for e := ws.here.Front(); e != nil; e = e.Next() {
		if w := e.Value.(*waiter); w != like && w.kind == like.kind && w.wake(everyKind) {
			return
		}
	}
}

// wake gives the waiter a token, and notes the warehouse if the hint names one. wake returns false if the waiter has a
// token already. Then the call of this waiter asks anyway, but may take no more than one item.
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

// soonest is the shortest wait for a due item. One call of a script may leave due items to the next call, and a node's
// clock may run ahead of the server's. Because of the limit, no call asks without a pause in these two cases.
const soonest = 5 * time.Millisecond

// in makes one call ask after the duration d, or earlier if an earlier time is set already.
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
