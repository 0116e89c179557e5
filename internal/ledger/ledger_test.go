package ledger_test

import (
	"tallyman/internal/ledger"
	"tallyman/sinks/queue"
)

// What the queue asks of the ledger is what the ledger promises.
var _ queue.Ledger = ledger.Ledger(nil)
