package sqlite

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// cancelBatch is how many deliveries a read-all cancels in one transaction.
const cancelBatch = 500

// ReadAll implements ledger.Marks.
func (l *Ledger) ReadAll(ctx context.Context, r ledger.ReadAll) (int, error) {
	if _, err := l.exec(ctx, "raise-reads", r.Warehouse, r.User, list(r.Inboxes), r.UpTo, rows.Micros(r.At)); err != nil {
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
		args := []any{r.Warehouse, list(r.Inboxes), r.UpTo, after, cancelBatch}
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
	err := each(ctx, tx, "read-already", []any{list(seqs), rows.ClocksDiffer.Microseconds()}, []any{&user, &seq}, func() error {
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

// LiveMarks implements ledger.MarkRecord.
func (l *Ledger) LiveMarks(ctx context.Context, after delivery.Mark, limit int) ([]delivery.Mark, error) {
	return l.markPage(ctx, "live-marks", after.Expires, &after, limit, l.clock())
}

// RecentMarks implements ledger.MarkRecord.
func (l *Ledger) RecentMarks(ctx context.Context, after delivery.Mark, limit int) ([]delivery.Mark, error) {
	return l.markPage(ctx, "recent-marks", after.At, &after, limit)
}

func (l *Ledger) markPage(ctx context.Context, name string, first time.Time, after *delivery.Mark, more ...any) ([]delivery.Mark, error) {
	var out []delivery.Mark
	var m rows.Marked
	err := each(ctx, l.read, name, append(rows.PlaceAfter(first, after), more...), m.Columns(), func() error {
		out = append(out, m.Mark())
		return nil
	})
	if err != nil {
		return nil, failed(name, err)
	}
	return out, nil
}

// Watermarks implements ledger.MarkRecord.
func (l *Ledger) Watermarks(ctx context.Context, after delivery.Watermark, limit int) ([]delivery.Watermark, error) {
	var out []delivery.Watermark
	var w rows.Read
	args := []any{rows.Micros(after.At), after.Warehouse, after.User, after.Inbox, limit}
	err := each(ctx, l.read, "reads", args, w.Columns(), func() error {
		out = append(out, w.Watermark())
		return nil
	})
	if err != nil {
		return nil, failed("reads", err)
	}
	return out, nil
}
