package api

import (
	"maps"
	"slices"
	"time"

	"tallyman/internal/auth"
)

// grant is what some streams were opened with and what can end before they do: a token. One goroutine waits for that.
type grant struct {
	ended   <-chan struct{}
	expires time.Time
	streams map[*stream]struct{} // guarded by streams.mu
	left    chan struct{}        // closed when there are none any more
}

// grantOf returns the grant of the identity, nil where it cannot end. The caller holds the lock.
func (hub *streams) grantOf(id *auth.Identity) *grant {
	if id.Ended == nil {
		return nil
	}
	g := hub.grants[id.Ended]
	if g == nil {
		g = &grant{ended: id.Ended, expires: id.Expires, streams: map[*stream]struct{}{}, left: make(chan struct{})}
		hub.grants[id.Ended] = g
		go hub.await(g)
	}
	return g
}

// releaseGrant takes the stream away from its grant. The caller holds the lock.
func (hub *streams) releaseGrant(s *stream) {
	g := s.grant
	delete(g.streams, s)
	if len(g.streams) == 0 {
		delete(hub.grants, g.ended)
		close(g.left)
	}
}

// await ends the streams with their grant.
func (hub *streams) await(g *grant) {
	select {
	case <-g.ended:
	case <-g.left:
		return
	}
	reason := StreamRevoked
	if !g.expires.IsZero() && !time.Now().Before(g.expires) {
		reason = StreamExpired
	}
	hub.mu.Lock()
	list := slices.Collect(maps.Keys(g.streams))
	hub.mu.Unlock()
	for _, s := range list {
		s.end(reason)
	}
}
