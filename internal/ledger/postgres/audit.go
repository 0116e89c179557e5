package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// AddChange implements ledger.Audit.
func (l *Ledger) AddChange(ctx context.Context, c *ledger.Change) error {
	_, err := l.exec(ctx, "add-change", append([]any{l.clock()}, rows.ChangeArgs(c)...)...)
	return err
}

// Changes implements ledger.Audit.
func (l *Ledger) Changes(ctx context.Context, f ledger.ChangeFilter) ([]ledger.Change, error) {
	return query(ctx, l, "changes", func(r pgx.CollectableRow) (ledger.Change, error) {
		var c rows.Change
		err := r.Scan(c.Columns()...)
		return c.Change(), err
	}, rows.ChangesArgs(&f)...)
}
