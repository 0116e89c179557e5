package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/record"
)

// MarkSent implements delivery.Lanes.
func (l *Ledger) MarkSent(ctx context.Context, node string, receipts []delivery.Receipt, made delivery.Attempt) error {
	told := make([][3]any, len(receipts))
	seqs := make([]int64, len(receipts))
	for i, r := range receipts {
		told[i], seqs[i] = [3]any{r.Seq, r.Score, r.Epoch}, r.Seq
	}
	text, err := json.Marshal(told)
	if err != nil {
		return failed("mark sent", err)
	}
	ago, attempt := codec.Attempt(&made)
	var stale int64
	err = l.inTx(ctx, "mark sent", func(tx *sql.Tx) error {
		if _, err := one(ctx, tx, "stale-receipts", []any{string(text), node}, &stale); err != nil {
			return err
		}
		if _, err := exec(ctx, tx, "mark-sent", string(text), l.nowMicros(), node, ago, attempt); err != nil {
			return err
		}
		return l.cancelReadAlready(ctx, tx, seqs)
	})
	if err == nil && stale > 0 {
		err = fmt.Errorf("%d receipts belong to another epoch, or to a lane that the node does not hold: %w", stale, ledger.ErrFenced)
	}
	return err
}

// CancelDeliveries implements ledger.DeliveryOperations.
func (l *Ledger) CancelDeliveries(ctx context.Context, who ledger.Author, seqs []int64, reason string) (changed []int64, err error) {
	reason = codec.Text(reason)
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

// cancelPending cancels the given deliveries that are pending, and returns their numbers.
func (l *Ledger) cancelPending(ctx context.Context, tx *sql.Tx, seqs []int64, reason string) (changed []int64, err error) {
	var pending string
	if _, err := one(ctx, tx, "pending-deliveries", []any{seqs}, &pending); err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(pending), &changed); err != nil {
		return nil, err
	}
	return changed, cancel(ctx, tx, changed, reason, l.nowMicros())
}

// RetryDeliveries implements ledger.DeliveryOperations.
func (l *Ledger) RetryDeliveries(ctx context.Context, who ledger.Author, seqs []int64) (changed []int64, lanes []ledger.Lane, err error) {
	err = l.change(ctx, "retry deliveries", who, func(tx *sql.Tx) (*ledger.Change, error) {
		now := l.nowMicros()
		var seq int64
		var state int16
		before := record.DeliveryStates{}
		ended := func() error { before[seq] = ledger.DeliveryState(state); return nil }
		if err := each(ctx, tx, "ended-deliveries", []any{seqs, now}, []any{&seq, &state}, ended); err != nil {
			return nil, err
		}
		add := func() error { changed = append(changed, seq); return nil }
		for _, name := range []string{"hasten-pushes", "revive-deliveries"} {
			if err := each(ctx, tx, name, []any{seqs, now}, []any{&seq}, add); err != nil {
				return nil, err
			}
		}
		for _, name := range []string{"revive-pushes", "line-up", "release-next"} {
			if _, err := exec(ctx, tx, name, changed, now); err != nil {
				return nil, err
			}
		}
		slices.Sort(changed)
		var lane ledger.Lane
		err := each(ctx, tx, "lanes-of", []any{changed}, []any{&lane.Sink, &lane.Warehouse}, func() error {
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
