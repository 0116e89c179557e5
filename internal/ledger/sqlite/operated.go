package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// ListDeliveries implements ledger.Operated.
func (l *Ledger) ListDeliveries(ctx context.Context, f ledger.DeliveryFilter) ([]ledger.DeliveryRecord, error) {
	states := make([]int64, len(f.States))
	for i, s := range f.States {
		states[i] = int64(s)
	}
	before := f.Before
	if before == 0 {
		before = math.MaxInt64
	}
	var out []ledger.DeliveryRecord
	var d rows.DeliveryRecord
	args := []any{f.Sink, f.Warehouse, f.Type, f.Rule, f.Notice, list(states), before, f.Limit, l.clock(), f.Held}
	err := each(ctx, l.read, "list-deliveries", args, d.Columns(), func() error {
		r, err := d.Record()
		out = append(out, r)
		return err
	})
	if err != nil {
		return nil, failed("list deliveries", err)
	}
	return out, nil
}

// Delivery implements ledger.Operated.
func (l *Ledger) Delivery(ctx context.Context, seq int64) (ledger.DeliveryRecord, error) {
	if seq < 1 || seq == math.MaxInt64 {
		return ledger.DeliveryRecord{}, noDelivery(seq)
	}
	found, err := l.ListDeliveries(ctx, ledger.DeliveryFilter{Before: seq + 1, Limit: 1})
	if err != nil {
		return ledger.DeliveryRecord{}, err
	}
	if len(found) == 0 || found[0].Seq != seq {
		return ledger.DeliveryRecord{}, noDelivery(seq)
	}
	return found[0], nil
}

func noDelivery(seq int64) error { return fmt.Errorf("%w: delivery %d", ledger.ErrNotFound, seq) }

// CancelDeliveries implements ledger.Operated.
func (l *Ledger) CancelDeliveries(ctx context.Context, who ledger.Author, seqs []int64, reason string) (changed []int64, err error) {
	reason = rows.Text(reason)
	err = l.change(ctx, "cancel deliveries", who, func(tx *sql.Tx) (*ledger.Change, error) {
		var err error
		changed, err = l.cancelPending(ctx, tx, seqs, reason)
		return record.DeliveriesCanceled(changed, reason), err
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// cancelPending cancels those that are pending, and returns them.
func (l *Ledger) cancelPending(ctx context.Context, tx *sql.Tx, seqs []int64, reason string) (changed []int64, err error) {
	var pending string
	if _, err := one(ctx, tx, "pending-deliveries", []any{list(seqs)}, &pending); err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(pending), &changed); err != nil {
		return nil, err
	}
	return changed, cancel(ctx, tx, changed, reason, l.clock())
}

// expireDeliveries cancels deliveries whose notices have expired, which nobody asked for and needs no record.
func (l *Ledger) expireDeliveries(ctx context.Context, seqs []int64) error {
	return l.inTx(ctx, "expire deliveries", func(tx *sql.Tx) error {
		_, err := l.cancelPending(ctx, tx, seqs, "the notice has expired")
		return err
	})
}

// RetryDeliveries implements ledger.Operated.
func (l *Ledger) RetryDeliveries(ctx context.Context, who ledger.Author, seqs []int64) (changed []int64, lanes []ledger.Lane, err error) {
	err = l.change(ctx, "retry deliveries", who, func(tx *sql.Tx) (*ledger.Change, error) {
		now := l.clock()
		var seq int64
		var state int16
		before := record.DeliveryStates{}
		ended := func() error { before[seq] = ledger.DeliveryState(state); return nil }
		if err := each(ctx, tx, "ended-deliveries", []any{list(seqs), now}, []any{&seq, &state}, ended); err != nil {
			return nil, err
		}
		add := func() error { changed = append(changed, seq); return nil }
		for _, name := range []string{"hasten-pushes", "revive-deliveries"} {
			if err := each(ctx, tx, name, []any{list(seqs), now}, []any{&seq}, add); err != nil {
				return nil, err
			}
		}
		for _, name := range []string{"revive-pushes", "line-up", "release-next"} {
			if _, err := exec(ctx, tx, name, list(changed), now); err != nil {
				return nil, err
			}
		}
		slices.Sort(changed)
		var lane ledger.Lane
		err := each(ctx, tx, "lanes-of", []any{list(changed)}, []any{&lane.Sink, &lane.Warehouse}, func() error {
			lanes = append(lanes, lane)
			return nil
		})
		return record.DeliveriesRetried(before, changed), err
	})
	if err != nil {
		return nil, nil, err
	}
	return changed, lanes, nil
}
