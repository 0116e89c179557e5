package app

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// longestTurn is the time in which each main loop of a node turns at least once. The loops of the engine sleep for up
// to a minute. A loop that asks the ledger several questions has a time limit for each question.
const longestTurn = 2 * time.Minute

// pulse knows when each main loop of the node turned last. A loop counts from its first turn.
type pulse struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// turned records a turn of the loop.
func (p *pulse) turned(loop string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = map[string]time.Time{}
	}
	p.last[loop] = time.Now()
}

// end forgets the loops of the part, whose names begin with the part and a space: the part has stopped in good order.
func (p *pulse) end(part string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.last, func(loop string, _ time.Time) bool { return strings.HasPrefix(loop, part+" ") })
}

// stuck returns the names of the loops that have not turned for too long, sorted.
func (p *pulse) stuck() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for name, at := range p.last {
		if time.Since(at) > longestTurn {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
