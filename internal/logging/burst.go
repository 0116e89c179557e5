package logging

import (
	"sync"
	"time"
)

// Burst makes a few lines of many events of one kind. The first event begins a window. In the window the first Own events have a line
// each; the others are counted, and when the window ends they have one line together. Where there is only one such event, the event has
// its own line, late. Methods may be called from many goroutines.
type Burst struct {
	Window time.Duration
	Own    int
	Rest   func(count int) // writes the line of the others, two or more

	mu    sync.Mutex
	timer *time.Timer // of the window; nil = there is none
	seen  int         // in the window
	rest  int         // of those, without a line so far
	first func()      // the line of the first of the rest
}

// Event reports an event; line writes its own line.
func (b *Burst) Event(line func()) {
	if b.count(line) {
		line()
	}
}

// count tells whether the event has its own line now.
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

// Flush ends the window. Call it when no more events can come: what is counted is written then, and not later.
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
