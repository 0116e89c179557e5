package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
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
func (l *Ledger) CancelDeliveries(ctx context.Context, seqs []int64, reason string) (changed []int64, err error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	err = again(func() error {
		changed = nil
		begin := func(b *pgx.Batch) {
			b.Queue(queries.Get("by-key"))
			b.Queue(queries.Get("lock-pushes"), seqs, seqs)
		}
		return l.inShortTx(ctx, "cancel deliveries", begin, func(_ context.Context, _ *pgx.Conn, last *pgx.Batch) error {
			last.Queue(queries.Get("cancel-deliveries"), seqs, rows.Text(reason)).Query(collect(&changed))
			l.releaseNext(last, seqs, followed{})
			return nil
		})
	})
	slices.Sort(changed)
	return changed, err
}

// RetryDeliveries implements ledger.Operated.
func (l *Ledger) RetryDeliveries(ctx context.Context, seqs []int64) (changed []int64, lanes []ledger.Lane, err error) {
	if len(seqs) == 0 {
		return nil, nil, nil
	}
	err = again(func() error {
		changed = nil
		clock := l.clock()
		begin := func(b *pgx.Batch) {
			b.Queue(queries.Get("by-key"))
			b.Queue(queries.Get("lock-retries"))
			b.Queue(queries.Get("lock-rules"), seqs)
			b.Queue(queries.Get("lock-pushes"), seqs, seqs)
			b.Queue(queries.Get("hasten-pushes"), seqs, clock).Query(collect(&changed))
			b.Queue(queries.Get("revive-deliveries"), seqs, clock).Query(collect(&changed))
		}
		return l.inShortTx(ctx, "retry deliveries", begin, func(_ context.Context, _ *pgx.Conn, last *pgx.Batch) error {
			last.Queue(queries.Get("revive-pushes"), changed, clock)
			last.Queue(queries.Get("line-up"), changed, clock)
			l.releaseNext(last, changed, followed{})
			last.Queue(queries.Get("lanes-of"), changed).Query(func(found pgx.Rows) error {
				var err error
				lanes, err = pgx.CollectRows(found, pgx.RowToStructByPos[ledger.Lane])
				return err
			})
			return nil
		})
	})
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(changed)
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
