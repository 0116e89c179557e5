package stream

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

// Limits bound the streams of a node. 0 = the default.
type Limits struct {
	Max      int // on the node
	PerToken int // of one token, or of one subject where the token is a JWT; mode none has no such bound
}

// The defaults.
const (
	DefaultMax         = 20_000
	DefaultMaxPerToken = 10_000
)

// Why streams end, as the event end and the metrics say it.
const (
	Gone        = "gone"        // the client left
	Slow        = "slow"        // the client did not read
	Revoked     = "revoked"     // what the client proved itself with was taken back
	Expired     = "expired"     // or has expired
	Shutdown    = "shutdown"    // the node ends
	Unavailable = "unavailable" // the inboxes are out of reach while the stream catches up
	Failed      = "failed"
)

// Meter counts streams.
type Meter interface {
	StreamOpened()
	// StreamEnded gives one of the reasons above.
	StreamEnded(reason string)
}

// Hub has the open streams of a node. While there are any, one goroutine does for all of them what takes a clock.
type Hub struct {
	meter  Meter
	log    *slog.Logger
	limits Limits

	mu      sync.Mutex
	open    map[*Stream]struct{}
	holders map[string]int             // streams by token or subject
	grants  map[<-chan struct{}]*grant // those that can end
	stop    chan struct{}              // ends the goroutine
	opened  uint64                     // so far
	drained bool
}

const (
	beatEvery      = time.Second
	heartbeatBeats = 15 // a heartbeat is due every so many beats
)

// NewHub makes a hub without streams.
func NewHub(limits Limits, meter Meter, log *slog.Logger) *Hub {
	hub := &Hub{
		meter: meter, log: log, limits: limits,
		open: map[*Stream]struct{}{}, holders: map[string]int{}, grants: map[<-chan struct{}]*grant{},
	}
	if hub.limits.Max == 0 {
		hub.limits.Max = DefaultMax
	}
	if hub.limits.PerToken == 0 {
		hub.limits.PerToken = DefaultMaxPerToken
	}
	return hub
}

// Enter admits a stream, which has to end. attach gives its source; the lock of the streams is held.
func (hub *Hub) Enter(id *auth.Identity, s *Stream, attach func() Source) *wire.Problem {
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
func (hub *Hub) leave(s *Stream) {
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
	s.source.Release()
	if len(hub.open) == 0 {
		close(hub.stop)
		hub.stop = nil
	}
}

// run beats until there are no streams.
func (hub *Hub) run(stop <-chan struct{}) {
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

// pulse sends the heartbeats that are due, a share of them at each beat.
func (hub *Hub) pulse(beat uint8) {
	hub.mu.Lock()
	var due []*Stream
	for s := range hub.open {
		if s.beat == beat {
			due = append(due, s)
		}
	}
	hub.mu.Unlock()
	for _, s := range due {
		s.Push(heartbeat)
	}
}

// Open is the number of open streams.
func (hub *Hub) Open() int {
	hub.mu.Lock()
	defer hub.mu.Unlock()
	return len(hub.open)
}

// Drain ends all streams, lets nobody in again, and returns when the clients have been told, or could not be.
func (hub *Hub) Drain() {
	hub.mu.Lock()
	hub.drained = true
	open := slices.Collect(maps.Keys(hub.open))
	hub.mu.Unlock()
	for _, s := range open {
		s.End(Shutdown)
	}
	for _, s := range open {
		<-s.done
	}
}

// grant is what some streams were opened with and what can end before they do: a token. One goroutine waits for that.
type grant struct {
	ended   <-chan struct{}
	expires time.Time
	streams map[*Stream]struct{} // guarded by the lock of the streams
	left    chan struct{}        // closed when there are none any more
}

// grantOf returns the grant of the identity, nil where it cannot end. The caller holds the lock.
func (hub *Hub) grantOf(id *auth.Identity) *grant {
	if id.Ended == nil {
		return nil
	}
	g := hub.grants[id.Ended]
	if g == nil {
		g = &grant{ended: id.Ended, expires: id.Expires, streams: map[*Stream]struct{}{}, left: make(chan struct{})}
		hub.grants[id.Ended] = g
		go hub.await(g)
	}
	return g
}

// releaseGrant takes the stream away from its grant. The caller holds the lock.
func (hub *Hub) releaseGrant(s *Stream) {
	g := s.grant
	delete(g.streams, s)
	if len(g.streams) == 0 {
		delete(hub.grants, g.ended)
		close(g.left)
	}
}

// await ends the streams with their grant.
func (hub *Hub) await(g *grant) {
	select {
	case <-g.ended:
	case <-g.left:
		return
	}
	reason := Revoked
	if !g.expires.IsZero() && !time.Now().Before(g.expires) {
		reason = Expired
	}
	hub.mu.Lock()
	list := slices.Collect(maps.Keys(g.streams))
	hub.mu.Unlock()
	for _, s := range list {
		s.End(reason)
	}
}
