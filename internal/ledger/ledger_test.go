package ledger_test

import (
	"tallyman/internal/ledger"
	"tallyman/sinks/queue"
)

// The ledger implements everything that the queue needs.
var _ queue.Ledger = ledger.Ledger(nil)
