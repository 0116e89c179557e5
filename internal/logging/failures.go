package logging

import (
	"sync"
	"time"
)

// Failures makes a few lines of work that fails again and again. The first failure has its own line. Then each window has one line at
// most: the number of its failures, or, once work has recovered and a whole window had no failure, that all is well again. Methods may
// be called from many goroutines.
type Failures struct {
	Window time.Duration
	Well   func() // writes the line that all is well again

	mu        sync.Mutex
	timer     *time.Timer     // of the window; nil = all is well
	failed    int             // in the window, without a line so far
	rest      func(count int) // writes the line of these; of the latest failure
	recovered bool            // since the latest failure
}

// Fail reports a failure. own writes the line of this failure alone, rest the line of several of which this failure is the latest. Fail
// tells whether it has written the own line.
func (f *Failures) Fail(own func(), rest func(count int)) bool {
	if !f.begin(rest) {
		return false
	}
	own()
	return true
}

// begin begins a window, or counts the failure where there is one.
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

// Recover reports that work which failed before has succeeded.
func (f *Failures) Recover() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recovered = true
}

// end ends a window, and begins the next unless all is well.
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

// Flush writes the line of the failures that are counted. Call it when no more can come.
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
