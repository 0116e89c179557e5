package auth

import (
	"sync"
	"time"
)

// ends has a channel for each second in which JWTs expire that were seen. So it costs one timer for all that expire together, and not one for
// each request.
type ends struct {
	mu   sync.Mutex
	open map[int64]chan struct{}
}

// at returns the channel that is closed in that second.
func (e *ends) at(t time.Time) <-chan struct{} {
	second := t.Unix()
	e.mu.Lock()
	defer e.mu.Unlock()
	if c, ok := e.open[second]; ok {
		return c
	}
	if e.open == nil {
		e.open = map[int64]chan struct{}{}
	}
	c := make(chan struct{})
	e.open[second] = c
	time.AfterFunc(time.Until(t), func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.open, second)
		close(c)
	})
	return c
}
