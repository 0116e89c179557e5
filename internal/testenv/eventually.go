package testenv

import (
	"testing"
	"time"
)

const pollInterval = 5 * time.Millisecond

// Eventually asks cond until it holds, and fails the test when it still does not after the deadline.
func Eventually(t testing.TB, cond func() bool, deadline time.Duration) {
	t.Helper()
	if !poll(cond, deadline) {
		t.Fatalf("the condition still did not hold after %s", deadline)
	}
}

// poll tells whether cond came to hold within the deadline.
func poll(cond func() bool, deadline time.Duration) bool {
	end := time.After(deadline)
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for !cond() {
		select {
		case <-end:
			return cond()
		case <-tick.C:
		}
	}
	return true
}
