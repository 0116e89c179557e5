package api

import (
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

// StreamLimits bound the streams of a node. 0 = the default.
type StreamLimits struct {
	Max      int // on the node
	PerToken int // of one token, or of one subject where the token is a JWT; mode none has no such bound
}

// The defaults.
const (
	DefaultMaxStreams         = 20_000
	DefaultMaxStreamsPerToken = 10_000
)

// Why streams end, as the event end and the metrics say it.
const (
	StreamGone        = "gone"        // the client left
	StreamSlow        = "slow"        // the client did not read
	StreamRevoked     = "revoked"     // what the client proved itself with was taken back
	StreamExpired     = "expired"     // or has expired
	StreamShutdown    = "shutdown"    // the node ends
	StreamUnavailable = "unavailable" // the inboxes are out of reach while the stream catches up
	StreamFailed      = "failed"
)

// streams are the open streams of the node. While there are any, one goroutine does for all of them what takes a clock.
type streams struct {
	inbox  Inbox
	meter  Meter
	log    *slog.Logger
	limits StreamLimits
	polls  chan struct{} // a place for each poll under way, so that thousands of streams do not ask at a time

	mu      sync.Mutex
	open    map[*stream]struct{}
	feeds   map[string]*feed
	holders map[string]int             // streams by token or subject
	grants  map[<-chan struct{}]*grant // those that can end
	failed  map[*feed]struct{}         // to be polled again at the next beat
	stop    chan struct{}              // ends the goroutine
	opened  uint64                     // so far
	drained bool
}

const (
	pollsAtOnce    = 32
	beatEvery      = time.Second
	heartbeatBeats = 15 // a heartbeat is due every so many beats
)

func newStreams(deps *Deps) *streams {
	hub := &streams{
		inbox: deps.Inbox, meter: deps.Meter, log: deps.Logger, limits: deps.Streams, polls: make(chan struct{}, pollsAtOnce),
		open: map[*stream]struct{}{}, feeds: map[string]*feed{}, holders: map[string]int{}, grants: map[<-chan struct{}]*grant{},
		failed: map[*feed]struct{}{},
	}
	if hub.limits.Max == 0 {
		hub.limits.Max = DefaultMaxStreams
	}
	if hub.limits.PerToken == 0 {
		hub.limits.PerToken = DefaultMaxStreamsPerToken
	}
	return hub
}

// enter admits a stream, which has to end. attach gives its source; the lock of the streams is held.
func (hub *streams) enter(id *auth.Identity, s *stream, attach func() source) *wire.Problem {
	hub.mu.Lock()
	defer hub.mu.Unlock()
	holder := holderOf(id)
	switch {
	case hub.drained:
		return retryable(http.StatusServiceUnavailable, wire.CodeShuttingDown, "this node is shutting down; ask another one")
	case len(hub.open) >= hub.limits.Max:
		return retryable(http.StatusServiceUnavailable, wire.CodeTooManyStreams, "this node has as many streams open as it may")
	case holder != "" && hub.holders[holder] >= hub.limits.PerToken:
		return retryable(http.StatusTooManyRequests, wire.CodeTooManyStreams, "this token has as many streams open as it may")
	}
	hub.opened++
	s.hub, s.holder, s.beat, s.writing, s.done = hub, holder, uint8(hub.opened%heartbeatBeats), true, make(chan struct{})
	s.source = attach()
	s.grant = hub.grantOf(id)
	if s.grant != nil {
		s.grant.streams[s] = struct{}{}
	}
	if holder != "" {
		hub.holders[holder]++
	}
	hub.open[s] = struct{}{}
	hub.meter.StreamOpened()
	if hub.stop == nil {
		hub.stop = make(chan struct{})
		go hub.run(hub.stop)
	}
	return nil
}

// holderOf is whose streams are counted together; "" = nobody's.
func holderOf(id *auth.Identity) string {
	switch {
	case id.Token != "":
		return "token " + id.Token
	case id.Subject == auth.Anonymous:
		return ""
	}
	return id.Subject
}

func retryable(status int, code wire.Code, detail string) *wire.Problem {
	p := wire.NewProblem(status, code, detail)
	p.RetryAfter = 1 + rand.IntN(5) //nolint:gosec // so that not all of them come back at once
	return p
}

// leave forgets a stream that has ended.
func (hub *streams) leave(s *stream) {
	hub.mu.Lock()
	defer hub.mu.Unlock()
	delete(hub.open, s)
	if s.holder != "" {
		if hub.holders[s.holder]--; hub.holders[s.holder] == 0 {
			delete(hub.holders, s.holder)
		}
	}
	if s.grant != nil {
		hub.releaseGrant(s)
	}
	s.source.release()
	if len(hub.open) == 0 {
		close(hub.stop)
		hub.stop = nil
	}
}

// run beats until there are no streams.
func (hub *streams) run(stop <-chan struct{}) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-tick.C:
			hub.pulse(uint8(n % heartbeatBeats))
		case <-stop:
			return
		}
	}
}

// heartbeat is a comment, which clients skip.
var heartbeat = []byte(":\n\n")

// pulse sends the heartbeats that are due, a share of them at each beat, and has feeds polled again that could not be.
func (hub *streams) pulse(beat uint8) {
	hub.mu.Lock()
	var due []*stream
	for s := range hub.open {
		if s.beat == beat {
			due = append(due, s)
		}
	}
	failed := hub.failed
	hub.failed = map[*feed]struct{}{}
	hub.mu.Unlock()
	for _, s := range due {
		s.push(heartbeat)
	}
	for f := range failed {
		f.wake()
	}
}

// later has the feed polled again at the next beat.
func (hub *streams) later(f *feed) {
	hub.mu.Lock()
	defer hub.mu.Unlock()
	hub.failed[f] = struct{}{}
}

// drain ends all streams, lets nobody in again, and returns when the clients have been told, or could not be.
func (hub *streams) drain() {
	hub.mu.Lock()
	hub.drained = true
	open := slices.Collect(maps.Keys(hub.open))
	hub.mu.Unlock()
	for _, s := range open {
		s.end(StreamShutdown)
	}
	for _, s := range open {
		<-s.done
	}
}
