package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
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
		if _, err := exec(ctx, tx, "add-mark", codec.MarkArgs(&m)...); err != nil {
			return err
		}
		unless, reason := codec.Needless(&m)
		var needless []int64
		var seq int64
		err = each(ctx, tx, "needless-pushes", []any{m.Notice, unless, m.As}, []any{&seq}, func() error {
			needless = append(needless, seq)
			return nil
		})
		if err != nil {
			return err
		}
		return cancel(ctx, tx, needless, reason, l.nowMicros())
	})
}

// CancelRead implements store.Engine.
func (e engine) CancelRead(ctx context.Context, r *ledger.ReadAll, after int64, limit int) ([]int64, error) {
	var needless []int64
	err := e.inTx(ctx, "read-all", func(tx *sql.Tx) error {
		var seq int64
		args := []any{r.Warehouse, r.Inboxes, r.UpTo, after, limit, r.User}
		err := each(ctx, tx, "pushes-until-read", args, []any{&seq}, func() error {
			needless = append(needless, seq)
			return nil
		})
		if err != nil {
			return err
		}
		return cancel(ctx, tx, needless, codec.ReadBy(r.User), e.nowMicros())
	})
	return needless, err
}

// cancelReadAlready cancels needless deliveries that were recorded just now, after a read-all that would have
// canceled them.
func (l *Ledger) cancelReadAlready(ctx context.Context, tx *sql.Tx, seqs []int64) error {
	needless := map[string][]int64{}
	var user string
	var seq int64
	err := each(ctx, tx, "read-already", []any{seqs, codec.ClocksDiffer.Microseconds()}, []any{&user, &seq}, func() error {
		needless[user] = append(needless[user], seq)
		return nil
	})
	if err != nil {
		return err
	}
	for _, user := range slices.Sorted(maps.Keys(needless)) {
		if err := cancel(ctx, tx, needless[user], codec.ReadBy(user), l.nowMicros()); err != nil {
			return err
		}
	}
	return nil
}
