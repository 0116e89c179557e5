package schedule

import (
	"hash/fnv"
	"io"
	"time"
)

// Jitter returns how long a rule waits in a scope after each due time: from 0 to below limit, always the
// same for the same rule and scope, on every node, in whole milliseconds.
func Jitter(rule, scope string, limit time.Duration) time.Duration {
	steps := uint64(max(limit, 0) / time.Millisecond)
	if steps == 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, rule+"\x00"+scope)                   // a hash never fails
	return time.Duration(mix(h.Sum64())%steps) * time.Millisecond //nolint:gosec // below limit
}

// mix spreads the hash of similar names over all bits (FNV leaves those that differ in the last letter close
// together).
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}
