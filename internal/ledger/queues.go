package ledger

import "tallyman/internal/item"

// Queues is what the ledger keeps of work queues: their items, what became of each, and who has paused what.
type Queues interface {
	item.Journal
	item.Records
}

// LookedAt is how many items one call of EndedItems looks at for those of some warehouses.
const LookedAt = 10_000

// TestTwin is the end of the name of a queue's test twin.
const TestTwin = ":test"
