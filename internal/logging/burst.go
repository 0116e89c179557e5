package logging

import (
	"sync"
	"time"
)

// Burst makes a few lines of many events of one kind. The first event begins a window. In the window the first Own
// events have a line each. Burst counts the other events, and writes one line for all of them when the window ends. If
// Burst has counted only one event, this event has its own line, late. Methods may be called from many goroutines.
type Burst struct {
	Window time.Duration
	Own    int
	Rest   func(count int) // Writes the one line of the counted events, two or more.

	mu    sync.Mutex
	timer *time.Timer // The timer of the window. Nil means there is no window.
	seen  int         // Events in the window.
	rest  int         // Events in the window that have no line so far.
	first func()      // Writes the own line of the first counted event.
}

// Event reports an event. line writes the own line of the event.
func (b *Burst) Event(line func()) {
	if b.count(line) {
		line()
	}
}

// count counts the event, and tells whether the event has its own line now.
func (b *Burst) count(line func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer == nil {
		b.timer = time.AfterFunc(b.Window, b.Flush)
	}
	b.seen++
	if b.seen <= b.Own {
		return true
	}
	if b.rest == 0 {
		b.first = line
	}
	b.rest++
	return false
}

// Flush ends the window, and writes the line of the counted events at once. Call it when no more events can come.
func (b *Burst) Flush() {
	b.mu.Lock()
	rest, first := b.rest, b.first
	if b.timer != nil {
		b.timer.Stop()
	}
	b.timer, b.seen, b.rest, b.first = nil, 0, 0, nil
	b.mu.Unlock()
	switch {
	case rest == 1:
		first()
	case rest > 1:
		b.Rest(rest)
	}
}
