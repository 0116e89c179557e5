package push

import (
	"errors"
	"time"

	"tallyman/sinks"
)

const (
	firstBackoff = time.Second
	mostBackoff  = 5 * time.Minute
	leastBackoff = 100 * time.Millisecond // so that a retry is never at once
	mostLater    = time.Hour              // of what a channel asks for
)

// backoff is how long a delivery waits that failed after so many attempts before: full jitter over a window of 1 s that doubles with
// each attempt, up to 5 m. A chance in [0, 1) picks the point in it, from 100 ms on.
func backoff(before int, chance float64) time.Duration {
	window := mostBackoff
	if doublings := max(before, 0); doublings < 9 { // 1 s × 2^9 is more than the most
		window = min(firstBackoff<<doublings, mostBackoff)
	}
	return leastBackoff + time.Duration(chance*float64(window-leastBackoff))
}

// asked is how long the channel has asked to be left alone, at most an hour; 0 = it has not.
func asked(err error) time.Duration {
	if later, ok := errors.AsType[*sinks.LaterError](err); ok {
		return min(max(later.After, 0), mostLater)
	}
	return 0
}
