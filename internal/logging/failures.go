package logging

import (
	"sync"
	"time"
)

// Failures makes a few lines of work that fails again and again. The first failure has its own line and begins a
// window. After that each window has one line at most, when the window ends. The line has the number of further
// failures in the window. If there were none and the work has recovered, the line says that all is well again. Methods
// may be called from many goroutines.
type Failures struct {
	Window time.Duration
	Well   func() // Writes the line that says that all is well again.

	mu        sync.Mutex
	timer     *time.Timer     // The timer of the window. Nil means all is well.
	failed    int             // Failures in the window that have no line so far.
	rest      func(count int) // Writes the line of these failures. The latest call of Fail has set it.
	recovered bool            // The work has succeeded since the latest failure.
}

// Fail reports a failure. own writes the line of this failure alone. rest writes the line of several failures; this
// failure is the latest of them. Fail tells whether it has written the own line.
func (f *Failures) Fail(own func(), rest func(count int)) bool {
	if !f.begin(rest) {
		return false
	}
	own()
	return true
}

// begin begins a window and returns true. If there is a window already, begin counts the failure and returns false.
func (f *Failures) begin(rest func(count int)) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recovered = false
	if f.timer == nil {
		f.timer = time.AfterFunc(f.Window, f.end)
		return true
	}
	f.failed++
	f.rest = rest
	return false
}

// Recover reports that the work has succeeded after a failure.
func (f *Failures) Recover() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recovered = true
}

// end ends a window. It begins the next window unless all is well.
func (f *Failures) end() {
	f.mu.Lock()
	if f.timer == nil { // Flush was faster.
		f.mu.Unlock()
		return
	}
	failed, rest, well := f.failed, f.rest, f.failed == 0 && f.recovered
	f.failed, f.rest = 0, nil
	if well {
		f.timer = nil
	} else {
		f.timer.Reset(f.Window)
	}
	f.mu.Unlock()
	switch {
	case failed > 0:
		rest(failed)
	case well:
		f.Well()
	}
}

// Flush ends the window, and writes the line of the counted failures. Call it when no more failures can come.
func (f *Failures) Flush() {
	f.mu.Lock()
	failed, rest := f.failed, f.rest
	if f.timer != nil {
		f.timer.Stop()
	}
	f.timer, f.failed, f.rest = nil, 0, nil
	f.mu.Unlock()
	if failed > 0 {
		rest(failed)
	}
}
