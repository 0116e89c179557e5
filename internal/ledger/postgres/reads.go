package postgres

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

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
	err := again(func() error {
		begin := func(b *pgx.Batch) {
			b.Queue(queries.Get("by-key"))
			b.Queue(queries.Get("pushes-until-read"), r.Warehouse, r.Inboxes, r.UpTo, after, cancelBatch).Query(func(found pgx.Rows) error {
				var err error
				needless, err = pgx.CollectRows(found, pgx.RowTo[int64])
				return err
			})
		}
		return l.inShortTx(ctx, "read-all", begin, func(_ context.Context, _ *pgx.Conn, last *pgx.Batch) error {
			l.cancelNeedless(last, needless, rows.ReadBy(r.User))
			return nil
		})
	})
	return needless, err
}

// cancelNeedless cancels deliveries, and lets what waits behind them go.
func (l *Ledger) cancelNeedless(b *pgx.Batch, needless []int64, reason string) {
	if len(needless) > 0 {
		b.Queue(queries.Get("lock-pushes"), needless, needless)
		b.Queue(queries.Get("cancel-deliveries"), needless, reason)
		l.releaseNext(b, needless, followed{})
	}
}

// cancelReadAlready does for deliveries that were recorded just now what a read-all did not do that came before. Of the two,
// whichever looks second sees what the other has recorded.
func (l *Ledger) cancelReadAlready(ctx context.Context, seqs []int64) error {
	needless := map[string][]int64{}
	var ask pgx.Batch // which is one transaction, and one round trip
	ask.Queue(queries.Get("by-key"))
	ask.Queue(queries.Get("read-already"), seqs, rows.ClocksDiffer.Microseconds()).Query(func(found pgx.Rows) error {
		var user string
		var seq int64
		_, err := pgx.ForEachRow(found, []any{&user, &seq}, func() error {
			needless[user] = append(needless[user], seq)
			return nil
		})
		return err
	})
	if err := l.pool.SendBatch(ctx, &ask).Close(); err != nil {
		return failed("read already", err)
	}
	if len(needless) == 0 {
		return nil
	}
	return again(func() error {
		begin := func(b *pgx.Batch) { b.Queue(queries.Get("by-key")) }
		return l.inShortTx(ctx, "read already", begin, func(_ context.Context, _ *pgx.Conn, last *pgx.Batch) error {
			for _, user := range slices.Sorted(maps.Keys(needless)) {
				l.cancelNeedless(last, needless[user], rows.ReadBy(user))
			}
			return nil
		})
	})
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
	return query(ctx, l, name, func(r pgx.CollectableRow) (delivery.Mark, error) {
		var m rows.Marked
		err := r.Scan(m.Columns()...)
		return m.Mark(), err
	}, append(rows.PlaceAfter(first, after), more...)...)
}

// Watermarks implements ledger.MarkRecord.
func (l *Ledger) Watermarks(ctx context.Context, after delivery.Watermark, limit int) ([]delivery.Watermark, error) {
	return query(ctx, l, "reads", func(r pgx.CollectableRow) (delivery.Watermark, error) {
		var w rows.Read
		err := r.Scan(w.Columns()...)
		return w.Watermark(), err
	}, rows.Micros(after.At), after.Warehouse, after.User, after.Inbox, limit)
}
