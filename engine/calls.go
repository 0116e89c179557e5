package engine

import (
	"sync"

	"tallyman/internal/delivery"
)

// sinkCalls remembers the lanes of a sink whose last attempt by this node failed. A lane that another node has emptied
// since is dropped at this node's next attempt.
type sinkCalls struct {
	mu     sync.Mutex
	failed map[delivery.Lane]error
	last   error // The newest error of any lane, also of a lane that works again.
}

func (c *sinkCalls) note(lane delivery.Lane, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		delete(c.failed, lane)
		return
	}
	if c.failed == nil {
		c.failed = map[delivery.Lane]error{}
	}
	c.failed[lane], c.last = err, err
}

// fault returns the newest error while any lane fails. Nil means the last attempt of each lane succeeded.
func (c *sinkCalls) fault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.failed) == 0 {
		return nil
	}
	return c.last
}

// SinkFault returns why this node's last deliveries to the inbox or a queue failed. Nil means they succeeded. Push
// channels report their own faults.
func (e *Engine) SinkFault(sink string) error {
	if d := e.deliverer[sink]; d != nil {
		return d.calls.fault()
	}
	return nil
}
