package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// Mark implements ledger.Marks. The deliveries of a notice are made together with it, so what the mark makes needless can be looked
// up before the transaction that ends it.
func (l *Ledger) Mark(ctx context.Context, m ledger.Mark) error {
	unless, reason := rows.Needless(&m)
	var recipient bool
	var needless []int64
	var b pgx.Batch
	b.Queue(queries.Get("is-recipient"), m.Notice, m.Warehouse, m.As).QueryRow(func(r pgx.Row) error { return r.Scan(&recipient) })
	b.Queue(queries.Get("needless-pushes"), m.Notice, unless).Query(func(found pgx.Rows) error {
		var err error
		needless, err = pgx.CollectRows(found, pgx.RowTo[int64])
		return err
	})
	if err := l.pool.SendBatch(ctx, &b).Close(); err != nil {
		return failed("mark", err)
	}
	if !recipient {
		return fmt.Errorf("%w: notice %q in an inbox of %s in warehouse %s", ledger.ErrNotFound, m.Notice, strings.Join(m.As, ", "), m.Warehouse)
	}
	if len(needless) == 0 {
		_, err := l.exec(ctx, "add-mark", rows.MarkArgs(&m)...)
		return err
	}
	return l.onPushes(ctx, "mark", needless, needless, func(b *pgx.Batch) {
		b.Queue(queries.Get("add-mark"), rows.MarkArgs(&m)...)
		b.Queue(queries.Get("cancel-deliveries"), needless, reason)
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
