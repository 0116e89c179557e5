package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// ListDeliveries implements ledger.Operated.
func (l *Ledger) ListDeliveries(ctx context.Context, f ledger.DeliveryFilter) ([]ledger.DeliveryRecord, error) {
	states := make([]int16, len(f.States))
	for i, s := range f.States {
		states[i] = int16(s)
	}
	before := f.Before
	if before == 0 {
		before = math.MaxInt64
	}
	var list []ledger.DeliveryRecord
	begin := func(b *pgx.Batch) {
		b.Queue(queries.Get("plan-anew"))
		b.Queue(queries.Get("list-deliveries"), f.Sink, f.Warehouse, f.Type, f.Rule, f.Notice, states, before, f.Limit, l.clock(), f.Held).
			Query(func(found pgx.Rows) error {
				var err error
				list, err = pgx.CollectRows(found, scanDelivery)
				return err
			})
	}
	err := l.inShortTx(ctx, "list deliveries", begin, func(context.Context, *pgx.Conn, *pgx.Batch) error { return nil })
	return list, err
}

func scanDelivery(r pgx.CollectableRow) (ledger.DeliveryRecord, error) {
	var d rows.DeliveryRecord
	if err := r.Scan(d.Columns()...); err != nil {
		return ledger.DeliveryRecord{}, err
	}
	return d.Record()
}

// Delivery implements ledger.Operated.
func (l *Ledger) Delivery(ctx context.Context, seq int64) (ledger.DeliveryRecord, error) {
	if seq < 1 || seq == math.MaxInt64 {
		return ledger.DeliveryRecord{}, noDelivery(seq)
	}
	list, err := l.ListDeliveries(ctx, ledger.DeliveryFilter{Before: seq + 1, Limit: 1})
	if err != nil {
		return ledger.DeliveryRecord{}, err
	}
	if len(list) == 0 || list[0].Seq != seq {
		return ledger.DeliveryRecord{}, noDelivery(seq)
	}
	return list[0], nil
}

func noDelivery(seq int64) error { return fmt.Errorf("%w: delivery %d", ledger.ErrNotFound, seq) }

// CancelDeliveries implements ledger.Operated.
func (l *Ledger) CancelDeliveries(ctx context.Context, who ledger.Author, seqs []int64, reason string) (changed []int64, err error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	reason = rows.Text(reason)
	err = again(func() error {
		changed = nil
		begin := func(b *pgx.Batch) {
			b.Queue(queries.Get("lock-audit"))
			beginCancel(b, seqs, reason, &changed)
		}
		return l.changeShortly(ctx, "cancel deliveries", who, begin, func(last *pgx.Batch) *ledger.Change {
			l.releaseNext(last, seqs, followed{})
			slices.Sort(changed)
			return record.DeliveriesCanceled(changed, reason)
		})
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// beginCancel adds the statements that cancel deliveries, before what they release.
func beginCancel(b *pgx.Batch, seqs []int64, reason string, changed *[]int64) {
	b.Queue(queries.Get("by-key"))
	b.Queue(queries.Get("lock-pushes"), seqs, seqs)
	b.Queue(queries.Get("cancel-deliveries"), seqs, reason).Query(collect(changed))
}

// expireDeliveries cancels deliveries whose notices have expired, which nobody asked for and needs no record.
func (l *Ledger) expireDeliveries(ctx context.Context, seqs []int64) error {
	return again(func() error {
		var changed []int64
		begin := func(b *pgx.Batch) { beginCancel(b, seqs, "the notice has expired", &changed) }
		return l.inShortTx(ctx, "expire deliveries", begin, func(_ context.Context, _ *pgx.Conn, last *pgx.Batch) error {
			l.releaseNext(last, seqs, followed{})
			return nil
		})
	})
}

// changeShortly is change in few round trips: begin is as in inShortTx, and begins with lock-audit; do leaves what comes after and says what was changed.
func (l *Ledger) changeShortly(ctx context.Context, what string, who ledger.Author, begin func(*pgx.Batch), do func(last *pgx.Batch) *ledger.Change) error {
	return l.recording(who, func(record recorder) error {
		return l.inShortTx(ctx, what, begin, func(ctx context.Context, conn *pgx.Conn, last *pgx.Batch) error {
			return record(ctx, conn, do(last))
		})
	})
}

// RetryDeliveries implements ledger.Operated.
func (l *Ledger) RetryDeliveries(ctx context.Context, who ledger.Author, seqs []int64) (changed []int64, lanes []ledger.Lane, err error) {
	if len(seqs) == 0 {
		return nil, nil, nil
	}
	err = again(func() error {
		changed = nil
		before := record.DeliveryStates{}
		clock := l.clock()
		begin := func(b *pgx.Batch) {
			b.Queue(queries.Get("lock-audit"))
			b.Queue(queries.Get("by-key"))
			b.Queue(queries.Get("lock-rules"), seqs)
			b.Queue(queries.Get("lock-pushes"), seqs, seqs)
			b.Queue(queries.Get("hasten-pushes"), seqs, clock).Query(collect(&changed))
			b.Queue(queries.Get("revive-deliveries"), seqs, clock).Query(func(found pgx.Rows) error {
				var seq int64
				var state int16
				_, err := pgx.ForEachRow(found, []any{&seq, &state}, func() error {
					changed, before[seq] = append(changed, seq), ledger.DeliveryState(state)
					return nil
				})
				return err
			})
		}
		return l.changeShortly(ctx, "retry deliveries", who, begin, func(last *pgx.Batch) *ledger.Change {
			slices.Sort(changed)
			last.Queue(queries.Get("revive-pushes"), changed, clock)
			last.Queue(queries.Get("line-up"), changed, clock)
			l.releaseNext(last, changed, followed{})
			last.Queue(queries.Get("lanes-of"), changed).Query(func(found pgx.Rows) error {
				var err error
				lanes, err = pgx.CollectRows(found, pgx.RowToStructByPos[ledger.Lane])
				return err
			})
			return record.DeliveriesRetried(before, changed)
		})
	})
	if err != nil {
		return nil, nil, err
	}
	return changed, lanes, nil
}

// collect appends the numbers that a statement returns.
func collect(to *[]int64) func(pgx.Rows) error {
	return func(found pgx.Rows) error {
		list, err := pgx.CollectRows(found, pgx.RowTo[int64])
		*to = append(*to, list...)
		return err
	}
}
