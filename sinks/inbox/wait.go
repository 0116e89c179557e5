package inbox

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/sinks/inbox/page"
)

// Wait returns nil as soon as one of the query's inboxes may have changed since the version: by a notice, a mark, or a
// new epoch. When the context ends earlier, Wait returns the context's error. Hints wake Wait. Because a hint may get
// lost, Wait also reads the clock every second.
func (in poller) Wait(ctx context.Context, q page.Query, version string) error {
	r, err := newReader(q)
	if err != nil {
		return err
	}
	epoch, clock, err := splitVersion(version)
	if err != nil {
		return nil // a version that cannot be read is never the present one
	}
	w := in.waiters.enter(r.Warehouse, r.Subscribers)
	defer in.waiters.leave(w)
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	looked := clock // nothing new for the reader between clock and this clock
	for {
		g, changed := in.keeper.Current()
		if g != nil && g.Epoch != epoch {
			return nil
		}
		if g != nil {
			// An error is tried again at the next tick, until the caller's context ends.
			if c, err := in.clockOf(ctx, g, r); err == nil && c.clock != looked {
				if n, err := in.between(ctx, r, clock, c.clock); err == nil {
					if n > 0 {
						return nil
					}
					looked = c.clock
				}
			}
		}
		select {
		case <-w.woken:
		case <-tick.C:
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// between counts the notices and marks that the reader got above one clock and up to another. Notices above the
// warehouse's clock are still being delivered, so they do not count.
func (in poller) between(ctx context.Context, r *reader, from, to int64) (int64, error) {
	least, most := "("+formatScore(from), formatScore(to)
	cmds, err := in.o.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, s := range r.Subscribers {
			p.ZCount(ctx, in.keys.inbox(r.Warehouse, s), least, most)
		}
		for _, key := range in.readerKeys(nil, r) {
			p.ZCount(ctx, key, least, most)
		}
		return nil
	})
	var n int64
	for _, cmd := range cmds {
		if c, ok := cmd.(*redis.IntCmd); ok {
			n += c.Val()
		}
	}
	return n, err
}

// waiters holds the calls of Wait, by warehouse.
type waiters struct {
	mu   sync.Mutex
	here map[string]map[*waiter]bool
}

type waiter struct {
	warehouse   string
	subscribers []string // sorted
	woken       chan struct{}
}

func (w *waiters) enter(warehouse string, subscribers []string) *waiter {
	one := &waiter{warehouse: warehouse, subscribers: subscribers, woken: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.here == nil {
		w.here = map[string]map[*waiter]bool{}
	}
	if w.here[warehouse] == nil {
		w.here[warehouse] = map[*waiter]bool{}
	}
	w.here[warehouse][one] = true
	return one
}

func (w *waiters) leave(one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.here[one.warehouse], one)
	if len(w.here[one.warehouse]) == 0 {
		delete(w.here, one.warehouse)
	}
}

// wake wakes the calls that the hint concerns.
func (w *waiters) wake(h hint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.here[h.warehouse] {
		if !h.concerns(one.subscribers) {
			continue
		}
		select {
		case one.woken <- struct{}{}:
		default: // it has a token already and will look anyway
		}
	}
}

// listen passes hints on until the context ends.
func (in poller) listen(ctx context.Context) {
	sub := in.o.Client.Subscribe(ctx, in.keys.hints())
	defer func() { _ = sub.Close() }()
	messages := sub.Channel()
	for {
		select {
		case m, ok := <-messages:
			if !ok {
				return
			}
			h := parseHint(m.Payload)
			if h.warehouse == "" { // an epoch has begun
				in.keeper.CheckNow()
				continue
			}
			in.learn(h.warehouse)
			in.waiters.wake(h)
			in.watches.hint(h)
		case <-ctx.Done():
			return
		}
	}
}

// hint says that something changed in a warehouse, and for which subscribers. On the channel it has a line for the
// warehouse, a line for each subscriber, and a line for the span of the clock.
type hint struct {
	warehouse   string
	subscribers []string // none means any
	// The clock moved from one score to the other. The spans of a warehouse's hints join without gaps, so a gap shows that
	// a hint was lost. 0 means that the hint has no span.
	from, to int64
}

const maxHinted = 200 // subscribers in a hint; a hint for more subscribers names none

// String returns the hint without its span, which the scripts add.
func (h hint) String() string {
	if len(h.subscribers) > maxHinted {
		return h.warehouse
	}
	return strings.Join(append([]string{h.warehouse}, h.subscribers...), "\n")
}

func parseHint(s string) hint {
	parts := strings.Split(s, "\n")
	h := hint{warehouse: parts[0], subscribers: parts[1:]}
	last := len(h.subscribers) - 1
	if last < 0 || strings.Contains(h.subscribers[last], ":") {
		return h
	}
	from, to, _ := strings.Cut(h.subscribers[last], "-")
	h.subscribers = h.subscribers[:last]
	f, ferr := strconv.ParseInt(from, 10, 64)
	t, terr := strconv.ParseInt(to, 10, 64)
	if ferr == nil && terr == nil {
		h.from, h.to = f, t
	}
	return h
}

func (h hint) concerns(sorted []string) bool {
	if len(h.subscribers) == 0 {
		return true
	}
	return slices.ContainsFunc(h.subscribers, func(s string) bool {
		_, ok := slices.BinarySearch(sorted, s)
		return ok
	})
}
