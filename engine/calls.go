package engine

import (
	"sync"

	"tallyman/internal/delivery"
)

// sinkCalls remembers the lanes of a sink whose last attempt by this node failed. If another node has emptied the lane
// since, the lane stays in failed until this node's next drain of the lane succeeds.
type sinkCalls struct {
	mu       sync.Mutex
	failed   map[delivery.Lane]laneFault
	failures int // The number of failed attempts so far.
}

// laneFault is why the last attempt of a lane failed.
type laneFault struct {
	err    error
	number int // The value of failures at that attempt.
}

func (c *sinkCalls) note(lane delivery.Lane, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		delete(c.failed, lane)
		return
	}
	if c.failed == nil {
		c.failed = map[delivery.Lane]laneFault{}
	}
	c.failures++
	c.failed[lane] = laneFault{err, c.failures}
}

// fault returns the newest error of the lanes that fail. Nil means the last attempt of each lane succeeded.
func (c *sinkCalls) fault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var newest laneFault
	for _, f := range c.failed {
		if f.number > newest.number {
			newest = f
		}
	}
	return newest.err
}

// SinkFault returns why this node's last deliveries to the inbox or a queue failed. Nil means they succeeded. Push
// channels report their own faults.
func (e *Engine) SinkFault(sink string) error {
	if d := e.deliverer[sink]; d != nil {
		return d.calls.fault()
	}
	return nil
}
