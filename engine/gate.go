package engine

import (
	"container/list"
	"sync"
	"time"
)

// soon is how long a firing may wait for its source after it was claimed. Claims that come together share a statement
// of the ledger, so a node claims more than it can run at once; but what it cannot begin soon is left for other nodes.
const soon = 50 * time.Millisecond

// gate lets firings in to be claimed: as many as may ask the source at a time, and those that will be asked within
// soon. Who comes first is let in first.
type gate struct {
	places int // that ask the source at a time

	mu      sync.Mutex
	inside  int
	took    time.Duration // how long a firing asks, on average; 0 = not known yet
	waiting list.List     // of chan struct{}, closed when its firing is let in
}

// enter waits to be let in; false when stop is closed first.
func (g *gate) enter(stop <-chan struct{}) bool {
	in := make(chan struct{})
	g.mu.Lock()
	place := g.waiting.PushBack(in)
	g.letIn()
	g.mu.Unlock()
	select {
	case <-in:
		return true
	case <-stop:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-in: // meanwhile
		g.inside--
		g.letIn()
	default:
		g.waiting.Remove(place)
	}
	return false
}

// leave makes room. took is how long the firing has asked the source, 0 = it has not.
func (g *gate) leave(took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	switch {
	case took <= 0:
	case g.took == 0:
		g.took = took
	default:
		g.took += (took - g.took) / 16
	}
	g.letIn()
}

func (g *gate) letIn() {
	most := g.places
	if g.took > 0 {
		most += g.places * int(soon/max(g.took, soon/100))
	}
	for g.inside < most && g.waiting.Len() > 0 {
		g.inside++
		close(g.waiting.Remove(g.waiting.Front()).(chan struct{})) //nolint:forcetypeassert // enter puts nothing else in
	}
}
