package ledger

import (
	"context"

	"tallyman/rules/row"
)

// Rewinds moves the watermarks of rules.
type Rewinds interface {
	// Rewind moves the watermark of a rule in a scope to another position. The next scan begins there. Rewind also
	// forgets the rows that the ledger remembers for reading again below the watermark. It returns the previous
	// position, nil where the rule had none.
	//
	// ErrBusy while a firing runs. A firing whose lease ran out can no longer commit; a node runs it again from the
	// new position. ErrNotFound before Register.
	Rewind(ctx context.Context, who Author, r *Rewind) (before []row.Value, err error)
}

// Rewind is an order to move a watermark, back or forward.
type Rewind struct {
	Rule, Scope string
	Columns     []string    // of the watermark
	To          []row.Value // a value for each column
	Initial     string      // new value of ScopeState.Initial
	Reason      string
}
