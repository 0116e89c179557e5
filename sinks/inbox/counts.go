package inbox

import (
	"strings"
	"sync"

	"tallyman/sinks/recovery"
)

// counts remembers how many unread notices readers have, for as long as nothing moved that is theirs.
type counts struct {
	mu sync.Mutex
	of map[string]count
}

type count struct {
	epoch  string
	clock  int64 // of the warehouse when it was counted; 0 = it was not
	sweeps string
	n      int
}

// maxCounts bounds the memory. Whoever polls again is counted again.
const maxCounts = 10_000

// who is the key of a reader's count: filters by type do not change it.
func (r *reader) who() string {
	return r.Warehouse + "\n" + strings.Join(r.Subscribers, "\n")
}

// known is the last count.
func (c *counts) known(g *recovery.Generation, who string) count {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.of[who]; k.epoch == g.Epoch {
		return k
	}
	return count{sweeps: "0"}
}

// resolve returns the count of a slice: what the script counted, or what was known before it.
func (c *counts) resolve(g *recovery.Generation, who string, known count, s *slice) int {
	n := s.count
	if n < 0 {
		n = known.n
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || len(c.of) >= maxCounts {
		c.of = map[string]count{}
	}
	c.of[who] = count{epoch: g.Epoch, clock: s.clock, sweeps: s.sweeps, n: n}
	return n
}
