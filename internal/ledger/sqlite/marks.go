package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// Mark implements ledger.Marks.
func (l *Ledger) Mark(ctx context.Context, m ledger.Mark) error {
	return l.inTx(ctx, "mark", func(tx *sql.Tx) error {
		var found int
		recipient, err := one(ctx, tx, "is-recipient", []any{m.Notice, m.Warehouse, list(m.As)}, &found)
		if err != nil {
			return err
		}
		if !recipient {
			return fmt.Errorf("%w: notice %q in an inbox of %s in warehouse %s", ledger.ErrNotFound, m.Notice, strings.Join(m.As, ", "), m.Warehouse)
		}
		if _, err := exec(ctx, tx, "add-mark", rows.MarkArgs(&m)...); err != nil {
			return err
		}
		unless, reason := rows.Needless(&m)
		var needless []int64
		var seq int64
		err = each(ctx, tx, "needless-pushes", []any{m.Notice, list(unless)}, []any{&seq}, func() error {
			needless = append(needless, seq)
			return nil
		})
		if err != nil {
			return err
		}
		return cancel(ctx, tx, needless, reason, l.clock())
	})
}

// MarksOf implements ledger.Marks.
func (l *Ledger) MarksOf(ctx context.Context, notice string) ([]ledger.Mark, error) {
	var out []ledger.Mark
	var m rows.Mark
	err := each(ctx, l.read, "marks", []any{notice}, m.Columns(), func() error {
		out = append(out, m.Mark(notice))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return out, nil
}
