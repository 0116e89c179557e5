package testenv

import (
	"bytes"
	"sync"
)

// Output keeps what several goroutines write, such as a log, for a test to read meanwhile.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String is all that was written by now.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
