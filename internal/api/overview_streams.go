package api

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"tallyman/internal/api/stream"
)

// overviewStream is a stream of overviews.
type overviewStream struct {
	stream.Stream

	all        *overviewStreams
	warehouses []string // none = all
	everywhere bool     // the caller sees all warehouses, whichever this is about
	sent       string   // what lasts of the overview that the client has; guarded by the lock of all
}

func (s *overviewStream) Drop() { s.all.drop(s) }

func (s *overviewStream) Release() {} // it has no part in anything before it is live

// overviewStreams are the open streams of overviews. While there are any, one goroutine looks for all of them.
type overviewStreams struct {
	lookout *lookout

	mu   sync.Mutex
	live map[*overviewStream]struct{}
	stop context.CancelFunc // ends the goroutine
}

// join sends a stream the overview, and makes it live unless it has ended meanwhile.
func (all *overviewStreams) join(ctx context.Context, s *overviewStream) {
	o := all.lookout.look(ctx)
	all.mu.Lock()
	defer all.mu.Unlock()
	if !s.Settle() {
		return
	}
	all.live[s] = struct{}{}
	s.give(newOverviewEvent(o, s))
	if all.stop == nil {
		run, stop := context.WithCancel(context.WithoutCancel(ctx)) // it is for all streams
		all.stop = stop
		go all.run(run)
	}
}

// drop forgets a stream that was live.
func (all *overviewStreams) drop(s *overviewStream) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.live, s)
	if len(all.live) == 0 {
		all.stop()
		all.stop = nil
	}
}

// run looks until there are no streams.
func (all *overviewStreams) run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			all.hand(all.lookout.look(ctx))
		case <-ctx.Done():
			return
		}
	}
}

// hand gives each stream what has changed for it. Those that see the same warehouses share its bytes.
func (all *overviewStreams) hand(o *outlook) {
	all.mu.Lock()
	defer all.mu.Unlock()
	events := map[string]*overviewEvent{}
	for s := range all.live {
		key := strconv.FormatBool(s.everywhere) + "\n" + strings.Join(s.warehouses, "\n")
		if events[key] == nil {
			events[key] = newOverviewEvent(o, s)
		}
		s.give(events[key])
	}
}

// give sends the overview unless the client has it. The lock of all is held.
func (s *overviewStream) give(e *overviewEvent) {
	if s.sent != e.lasting {
		s.sent = e.lasting
		s.Push(e.bytes)
	}
}

// overviewEvent is an overview as it goes to streams.
type overviewEvent struct {
	bytes   []byte
	lasting string // what it says without what time alone changes
}

func newOverviewEvent(o *outlook, s *overviewStream) *overviewEvent {
	form := o.form(s.warehouses, s.everywhere)
	text, err := json.Marshal(lasting(form))
	if err != nil { // our own forms always encode
		panic(err)
	}
	var b bytes.Buffer
	stream.WriteEvent(&b, "overview", "", form)
	return &overviewEvent{b.Bytes(), string(text)}
}
