package sinks

import "fmt"

// RefusedError is the answer of a sink that will never take some of the deliveries, however often it is asked. The
// caller ends those as failed and offers the others again; without it, one of them would hold up its lane for ever.
type RefusedError struct {
	Seqs []int64 // of the batch; at least one
	Err  error
}

// Error tells how many were refused and why.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%d refused for good: %v", len(e.Seqs), e.Err)
}

// Unwrap returns why.
func (e *RefusedError) Unwrap() error { return e.Err }
