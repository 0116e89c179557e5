package main

import "sync"

// held are the items that the worker has, in their order. It is safe for concurrent use.
type held struct {
	mu    sync.Mutex
	items []item
}

func newHeld(items []item) *held { return &held{items: append([]item(nil), items...)} }

func (h *held) has(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.find(id) >= 0
}

func (h *held) drop(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := h.find(id); i >= 0 {
		h.items = append(h.items[:i:i], h.items[i+1:]...)
	}
}

func (h *held) find(id string) int {
	for i := range h.items {
		if h.items[i].ID == id {
			return i
		}
	}
	return -1
}

// ops is the operation on each of them.
func (h *held) ops(kind, lease string) []op {
	h.mu.Lock()
	defer h.mu.Unlock()
	ops := make([]op, len(h.items))
	for i, it := range h.items {
		ops[i] = op{Op: kind, ID: it.ID, Attempt: it.Attempt, Lease: lease}
	}
	return ops
}
