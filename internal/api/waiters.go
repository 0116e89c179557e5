package api

import (
	"context"
	"sync"
)

// Waiters are the requests that wait for something new, so that a shutdown can wake them.
type Waiters struct {
	mu      sync.Mutex
	cancel  map[uint64]context.CancelFunc
	last    uint64
	drained bool
}

// Enter adds a waiter and returns how it leaves, or false when nobody may wait any more.
func (ws *Waiters) Enter(cancel context.CancelFunc) (leave func(), ok bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.drained {
		return nil, false
	}
	if ws.cancel == nil {
		ws.cancel = map[uint64]context.CancelFunc{}
	}
	ws.last++
	id := ws.last
	ws.cancel[id] = cancel
	return func() { ws.leave(id) }, true
}

func (ws *Waiters) leave(id uint64) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.cancel, id)
}

// drain wakes everyone and lets nobody in again.
func (ws *Waiters) drain() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.drained = true
	for _, cancel := range ws.cancel {
		cancel()
	}
}
