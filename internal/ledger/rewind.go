package ledger

import (
	"context"

	"tallyman/rules/row"
)

// Rewinds moves the watermarks of rules.
type Rewinds interface {
	// Rewind puts the watermark of a rule in a scope to another position. It forgets the rows that the rule reads again below its watermark: the next
	// scan begins at the position. It returns the position before, nil where the rule had none.
	// ErrBusy while a firing runs. A firing whose lease is over cannot commit any more, and is run again from the new position.
	// ErrNotFound before Register.
	Rewind(ctx context.Context, who Author, r *Rewind) (before []row.Value, err error)
}

// Rewind is an order to move a watermark, back or forward.
type Rewind struct {
	Rule, Scope string
	Columns     []string    // of the watermark
	To          []row.Value // a value for each column
	Initial     string      // ScopeState.Initial from now on
	Reason      string
}
