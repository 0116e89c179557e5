package ledger

import (
	"context"
	"errors"
)

// Lineage is how nodes tell a ledger from an older copy of it. A branch is a random name and a number that only grows. Each node has a branch
// and grows it all the time. Redis remembers the branch and the number that a node had last. A ledger that does not know them was restored:
// no later commit can bring the name back. docs/adr/lineage.md has the decision.
type Lineage interface {
	BranchKeeper
	RestoreRecord
}

// BranchKeeper keeps the branches of all nodes.
type BranchKeeper interface {
	// GrowBranch raises the branch to the number; number 1 begins the branch. A repeated call changes nothing. ErrForked where the ledger does
	// not know the branch at the number before.
	GrowBranch(ctx context.Context, branch string, number int64) error
	// HasBranch tells whether the ledger knows the branch at the number or at a later one.
	HasBranch(ctx context.Context, branch string, number int64) (bool, error)
	// Incarnation grows whenever a connection leads to another server process or another database than the connection before. It asks nobody.
	Incarnation() int64
	// ForgetRows drops the numbers of rows that the process remembers. A restored ledger may give them to others.
	ForgetRows()
}

// RestoreRecord keeps when an index was found to know more than its ledger.
type RestoreRecord interface {
	// AddRestore records it, with an audit record, and sets the number "restored" of Numbers to the time, µs by the ledger's clock. The other
	// numbers that grow with changes, also that of types, get values that they never had.
	AddRestore(ctx context.Context, who Author, r *Restore) error
}

// Restore is what a node has found of a ledger that was restored, for one sink.
type Restore struct {
	Sink     string
	Epoch    string // that Redis had
	Cause    string // what Redis remembers and the ledger does not know
	Withheld int    // items that wait for an operator
	Dropped  int    // items of Redis that the ledger does not know
}

// ErrForked says that the ledger is an older copy: it does not know what this node has written there before.
var ErrForked = errors.New("ledger: it was restored from a copy, or replaced by one that lags behind")
