package sqlite

import (
	"context"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// AddChange implements ledger.Audit.
func (l *Ledger) AddChange(ctx context.Context, c *ledger.Change) error {
	if _, err := exec(ctx, l.write, "add-change", append([]any{l.clock()}, rows.ChangeArgs(c)...)...); err != nil {
		return failed("add change", err)
	}
	return nil
}

// Changes implements ledger.Audit.
func (l *Ledger) Changes(ctx context.Context, f ledger.ChangeFilter) ([]ledger.Change, error) {
	var out []ledger.Change
	var row rows.Change
	err := each(ctx, l.read, "changes", rows.ChangesArgs(&f), row.Columns(), func() error {
		out = append(out, row.Change())
		return nil
	})
	if err != nil {
		return nil, failed("changes", err)
	}
	return out, nil
}
