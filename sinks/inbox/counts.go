package inbox

import (
	"strconv"
	"strings"
	"sync"

	"tallyman/sinks/index"
)

// counts remembers how many notices readers have, for as long as nothing moved in the warehouse.
type counts struct {
	mu    sync.Mutex
	known map[string]count
}

type count struct {
	epoch   string
	version string // clock and sweeps, joined by a dot
	n       int
}

// maxCounts bounds the memory. Whoever polls again is counted again.
const maxCounts = 10_000

// who is the key of a reader's count: filters by type do not change it.
func (r *reader) who() string {
	return r.Warehouse + "\n" + strings.Join(r.Subscribers, "\n")
}

// version is what the count is known for, "" if it is not.
func (c *counts) version(g *index.Generation, who string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.known[who]; k.epoch == g.Epoch {
		return k.version
	}
	return ""
}

// resolve returns the count of a slice: what the script counted, or what is known.
func (c *counts) resolve(g *index.Generation, who string, s *slice) int {
	version := strconv.FormatInt(s.clock, 10) + "." + s.sweeps
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.count < 0 {
		return c.known[who].n
	}
	if c.known == nil || len(c.known) >= maxCounts {
		c.known = map[string]count{}
	}
	c.known[who] = count{epoch: g.Epoch, version: version, n: s.count}
	return s.count
}
