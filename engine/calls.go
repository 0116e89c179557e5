package engine

import (
	"sync"

	"tallyman/internal/delivery"
)

// sinkCalls remembers which lanes of a sink this node could not deliver to when it tried last. A lane that another node
// has emptied is forgotten with the next attempt.
type sinkCalls struct {
	mu     sync.Mutex
	failed map[delivery.Lane]error
	last   error // of those
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

// fault is the last error while a lane is not delivered to; nil while each last call was answered well.
func (c *sinkCalls) fault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.failed) == 0 {
		return nil
	}
	return c.last
}

// SinkFault is why the inbox or a queue did not take what this node has given it last; nil where it did. Push channels
// tell by themselves.
func (e *Engine) SinkFault(sink string) error {
	if d := e.deliverer[sink]; d != nil {
		return d.calls.fault()
	}
	return nil
}
