package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// Mark implements ledger.Marks.
func (l *Ledger) Mark(ctx context.Context, m ledger.Mark) error {
	return l.inTx(ctx, "mark", func(tx *sql.Tx) error {
		var found int
		recipient, err := one(ctx, tx, "is-recipient", []any{m.Notice, m.Warehouse, m.As}, &found)
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
		err = each(ctx, tx, "needless-pushes", []any{m.Notice, unless}, []any{&seq}, func() error {
			needless = append(needless, seq)
			return nil
		})
		if err != nil {
			return err
		}
		return cancel(ctx, tx, needless, reason, l.clock())
	})
}

// cancelBatch is how many deliveries a read-all cancels in one transaction.
const cancelBatch = 500

// ReadAll implements ledger.Marks.
func (l *Ledger) ReadAll(ctx context.Context, r ledger.ReadAll) (int, error) {
	if _, err := l.exec(ctx, "raise-reads", r.Warehouse, r.User, r.Inboxes, r.UpTo, rows.Micros(r.At)); err != nil {
		return 0, err
	}
	canceled, after := 0, int64(0)
	for {
		batch, err := l.cancelRead(ctx, &r, after)
		canceled += len(batch)
		if err != nil || len(batch) < cancelBatch {
			return canceled, err
		}
		after = batch[len(batch)-1]
	}
}

// cancelRead cancels one batch of what the read-all makes needless, and returns it.
func (l *Ledger) cancelRead(ctx context.Context, r *ledger.ReadAll, after int64) ([]int64, error) {
	var needless []int64
	err := l.inTx(ctx, "read-all", func(tx *sql.Tx) error {
		var seq int64
		args := []any{r.Warehouse, r.Inboxes, r.UpTo, after, cancelBatch}
		err := each(ctx, tx, "pushes-until-read", args, []any{&seq}, func() error {
			needless = append(needless, seq)
			return nil
		})
		if err != nil {
			return err
		}
		return cancel(ctx, tx, needless, rows.ReadBy(r.User), l.clock())
	})
	return needless, err
}

// cancelReadAlready does for deliveries that were recorded just now what a read-all did not do that came before.
func (l *Ledger) cancelReadAlready(ctx context.Context, tx *sql.Tx, seqs []int64) error {
	needless := map[string][]int64{}
	var user string
	var seq int64
	err := each(ctx, tx, "read-already", []any{seqs, rows.ClocksDiffer.Microseconds()}, []any{&user, &seq}, func() error {
		needless[user] = append(needless[user], seq)
		return nil
	})
	if err != nil {
		return err
	}
	for _, user := range slices.Sorted(maps.Keys(needless)) {
		if err := cancel(ctx, tx, needless[user], rows.ReadBy(user), l.clock()); err != nil {
			return err
		}
	}
	return nil
}
