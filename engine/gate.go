package engine

import (
	"container/list"
	"sync"
	"time"
)

// soon is how long a firing may wait for its source after its claim. One statement of the ledger claims many firings,
// so a node could claim more firings than it can run at once. A node leaves firings that it cannot begin soon to other
// nodes.
const soon = 50 * time.Millisecond

// gate bounds the firings that a node claims for a source. The bound is the number of firings that may ask the source
// at a time, plus the number of firings that will ask within soon. First come, first served.
type gate struct {
	places int // The firings that may ask the source at a time.

	mu      sync.Mutex
	inside  int
	took    time.Duration // How long a firing asks the source, on average. 0 means unknown.
	waiting list.List     // The chan struct{} of each waiting firing. It is closed when the firing is let in.
}

// enter waits until the firing is let in. enter returns false when stop is closed first.
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
	case <-in: // The firing was let in at the same moment as the stop: give the place back.
		g.inside--
		g.letIn()
	default:
		g.waiting.Remove(place)
	}
	return false
}

// leave gives the place back. took is how long the firing asked the source; 0 means it did not ask.
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
