package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// Mark implements ledger.Marks.
func (l *Ledger) Mark(ctx context.Context, m ledger.Mark) error {
	unless, reason := rows.Needless(&m)
	return again(func() error {
		var recipient bool
		var needless []int64
		begin := func(b *pgx.Batch) {
			b.Queue(queries.Get("by-key"))
			b.Queue(queries.Get("is-recipient"), m.Notice, m.Warehouse, m.As).QueryRow(func(r pgx.Row) error { return r.Scan(&recipient) })
			b.Queue(queries.Get("needless-pushes"), m.Notice, unless).Query(func(found pgx.Rows) error {
				var err error
				needless, err = pgx.CollectRows(found, pgx.RowTo[int64])
				return err
			})
		}
		return l.inShortTx(ctx, "mark", begin, func(_ context.Context, _ *pgx.Conn, last *pgx.Batch) error {
			if !recipient {
				return fmt.Errorf("%w: notice %q in an inbox of %s in warehouse %s", ledger.ErrNotFound, m.Notice, strings.Join(m.As, ", "), m.Warehouse)
			}
			last.Queue(queries.Get("add-mark"), rows.MarkArgs(&m)...)
			l.cancelNeedless(last, needless, reason)
			return nil
		})
	})
}

// MarksOf implements ledger.Marks.
func (l *Ledger) MarksOf(ctx context.Context, notice string) ([]ledger.Mark, error) {
	return query(ctx, l, "marks", func(r pgx.CollectableRow) (ledger.Mark, error) {
		var m rows.Mark
		err := r.Scan(m.Columns()...)
		return m.Mark(notice), err
	}, notice)
}
