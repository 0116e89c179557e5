package queue

import (
	"context"
	"strings"
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
func (q *Queue) ask(ctx context.Context, l *line, s item.Step) (out item.Stepped, answered bool, err error) {
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
	channels := map[string]*line{}
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

func (q *Queue) hinted(channels map[string]*line, message any) {
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
