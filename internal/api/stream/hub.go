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

// Limits limit the streams of a node. 0 = the default.
type Limits struct {
	Max      int // Streams on the node.
	PerToken int // Streams of one API token, or with JWTs of one subject. Mode none has no such limit.
}

// The defaults.
const (
	DefaultMax         = 20_000
	DefaultMaxPerToken = 10_000
)

// Reasons for the end of a stream, in the event end and in metrics.
const (
	Gone        = "gone"        // The client disconnected.
	Slow        = "slow"        // The client did not read.
	Revoked     = "revoked"     // The token was revoked.
	Expired     = "expired"     // The token has expired.
	Shutdown    = "shutdown"    // The node stops.
	Unavailable = "unavailable" // The inboxes could not be reached while the stream caught up.
	Failed      = "failed"
)

// Meter counts streams.
type Meter interface {
	StreamOpened()
	// StreamEnded counts the end of a stream by one of the reasons above.
	StreamEnded(reason string)
}

// Hub has the open streams of a node. While there are streams, one goroutine sends the heartbeats of all of them.
type Hub struct {
	meter  Meter
	log    *slog.Logger
	limits Limits

	mu      sync.Mutex
	open    map[*Stream]struct{}
	holders map[string]int             // Number of streams by token or subject.
	grants  map[<-chan struct{}]*grant // Grants by the channel that closes when the token ends.
	stop    chan struct{}              // Ends the goroutine of the heartbeats.
	opened  uint64                     // Number of streams so far.
	drained bool
}

const (
	beatEvery      = time.Second
	heartbeatBeats = 15 // A stream gets a heartbeat every 15 beats.
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

// Enter admits a stream. The caller must end an admitted stream. attach returns the source of the stream; Enter calls
// attach with Hub.mu held.
func (hub *Hub) Enter(id *auth.Identity, s *Stream, attach func() Source) *wire.Problem {
	hub.mu.Lock()
	defer hub.mu.Unlock()
	holder := holderOf(id)
	switch {
	case hub.drained:
		return retryable(http.StatusServiceUnavailable, wire.CodeShuttingDown, "this node is shutting down; use another node")
	case len(hub.open) >= hub.limits.Max:
		return retryable(http.StatusServiceUnavailable, wire.CodeTooManyStreams, "this node has reached its limit of open streams")
	case holder != "" && hub.holders[holder] >= hub.limits.PerToken:
		return retryable(http.StatusTooManyRequests, wire.CodeTooManyStreams, "this token has reached its limit of open streams")
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

// holderOf returns the name under which the streams of a caller are counted; "" = they are not counted.
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
	p.RetryAfter = 1 + rand.IntN(5) //nolint:gosec // Random, so that not all clients come back at once.
	return p
}

// leave removes a stream that has ended.
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

// run sends heartbeats until there are no streams.
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

// heartbeat is a comment. Clients ignore it.
var heartbeat = []byte(":\n\n")

// pulse sends heartbeats to the streams of the beat. The streams are spread over the beats, so that each beat sends
// only a share of the heartbeats.
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

// Open returns the number of open streams.
func (hub *Hub) Open() int {
	hub.mu.Lock()
	defer hub.mu.Unlock()
	return len(hub.open)
}

// Drain ends all streams and admits no more. Drain returns when each client has got the event end, or could not get it.
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

// grant is a token that can end before its streams do. One goroutine for each grant waits for the end of the token.
type grant struct {
	ended   <-chan struct{}
	expires time.Time
	streams map[*Stream]struct{} // Guarded by Hub.mu.
	left    chan struct{}        // Closed when the last stream has left.
}

// grantOf returns the grant of the identity, or nil if the identity cannot end. The caller holds Hub.mu.
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

// releaseGrant removes the stream from its grant. The caller holds Hub.mu.
func (hub *Hub) releaseGrant(s *Stream) {
	g := s.grant
	delete(g.streams, s)
	if len(g.streams) == 0 {
		delete(hub.grants, g.ended)
		close(g.left)
	}
}

// await waits for the end of the grant, and then ends its streams.
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
