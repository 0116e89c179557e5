package queue

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

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
