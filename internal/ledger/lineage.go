package ledger

import (
	"context"
	"errors"
)

// Lineage lets nodes tell a ledger from an older copy of it. A branch is a random name and a number that only grows.
// Each node has one branch in the ledger and raises its number all the time. Redis remembers the name and the number
// that a node had last. A ledger that does not know them was restored from a copy: no later commit can bring the name
// back. docs/adr/lineage.md has the decision.
type Lineage interface {
	BranchKeeper
	RestoreRecord
}

// BranchKeeper keeps the branches of all nodes.
type BranchKeeper interface {
	// GrowBranch raises the branch to the number; number 1 begins the branch. A repeated call changes nothing.
	// ErrForked where the ledger does not know the branch at the previous number.
	GrowBranch(ctx context.Context, branch string, number int64) error
	// HasBranch tells whether the ledger knows the branch at this number or at a later one.
	HasBranch(ctx context.Context, branch string, number int64) (bool, error)
	// Incarnation grows whenever a connection leads to another server process or another database than the previous
	// connection. The call only reads a counter; it does not ask the database.
	Incarnation() int64
	// ForgetRows drops the row numbers that the process has cached. A restored ledger may give the same numbers to
	// other rows.
	ForgetRows()
}

// RestoreRecord records that an index in Redis knows more than its ledger.
type RestoreRecord interface {
	// AddRestore records a restore, with an audit record, and sets the number "restored" in Numbers to the time (µs,
	// the ledger's clock). The other numbers in Numbers that grow with changes, and the version of the types, get
	// values that they never had before. So every node reads its data again.
	AddRestore(ctx context.Context, who Author, r *Restore) error
}

// Restore describes, for one sink, what a node found after the ledger was restored.
type Restore struct {
	Sink     string
	Epoch    string // the epoch that Redis had
	Cause    string // what Redis knows and the ledger does not
	Withheld int    // items that wait for an operator's decision
	Dropped  int    // items in Redis that the ledger does not know
}

// ErrForked says that the ledger is an older copy: it does not know what this node wrote there before.
var ErrForked = errors.New("ledger: restored from a copy, or replaced by a server that lags behind")
