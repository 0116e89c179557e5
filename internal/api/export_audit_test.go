package api

import (
	"maps"
	"slices"
)

// QueueRecords are the operations on queues that are recorded, but for step.
func QueueRecords() []string { return slices.Sorted(maps.Keys(queueRecords)) }
