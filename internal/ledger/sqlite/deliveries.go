package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
	"tallyman/internal/notice"
)

// PendingLanes implements ledger.Deliveries.
func (l *Ledger) PendingLanes(ctx context.Context, sink string) ([]ledger.Lane, error) {
	var out []ledger.Lane
	lane := ledger.Lane{Sink: sink}
	err := each(ctx, l.read, "pending-lanes", []any{sink, l.clock()}, []any{&lane.Warehouse}, func() error {
		out = append(out, lane)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return out, nil
}

// AcquireLane implements ledger.Deliveries.
func (l *Ledger) AcquireLane(ctx context.Context, lane ledger.Lane, node string, lease time.Duration) (bool, error) {
	got := false
	err := l.inTx(ctx, "acquire a lane", func(tx *sql.Tx) error {
		ids, err := laneIDs(ctx, tx, []ledger.Lane{lane})
		if err != nil {
			return err
		}
		now := l.now()
		n, err := exec(ctx, tx, "acquire-lane", ids[0], node, rows.Lease(now, lease), now.UnixMicro())
		got = n == 1
		return err
	})
	if err != nil {
		return false, err
	}
	return got, nil
}

// ReleaseLane implements ledger.Deliveries.
func (l *Ledger) ReleaseLane(ctx context.Context, lane ledger.Lane, node string) error {
	_, err := l.exec(ctx, "release-lane", lane.Sink, lane.Warehouse, node)
	return err
}

// findLane returns the id of the lane, 0 if there is none.
func (l *Ledger) findLane(ctx context.Context, lane ledger.Lane) (int64, error) {
	var id int64
	if _, err := one(ctx, l.read, "lane", []any{lane.Sink, lane.Warehouse}, &id); err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	return id, nil
}

// Pending implements ledger.Deliveries.
func (l *Ledger) Pending(ctx context.Context, lane ledger.Lane, limit int) ([]delivery.Delivery, error) {
	id, err := l.findLane(ctx, lane)
	if err != nil || id == 0 {
		return nil, err
	}
	var out []delivery.Delivery
	var after int64
	for len(out) < limit {
		alive, expired, last, err := l.pendingPage(ctx, id, after, limit-len(out))
		if err != nil {
			return nil, err
		}
		out = append(out, alive...)
		if len(expired) == 0 { // else as many more may follow
			break
		}
		if _, err := l.exec(ctx, "cancel", list(expired)); err != nil {
			return nil, err
		}
		after = last
	}
	return out, nil
}

// pendingPage reads a stretch of a lane, up to the number last.
func (l *Ledger) pendingPage(ctx context.Context, lane, after int64, limit int) (alive []delivery.Delivery, expired []int64, last int64, err error) {
	var gone bool
	var recipients string
	var body sql.RawBytes
	err = each(ctx, l.read, "pending", []any{lane, after, limit, l.clock()}, []any{&last, &gone, &recipients, &body},
		func() error {
			if gone {
				expired = append(expired, last)
				return nil
			}
			d, err := readDelivery(last, recipients, body)
			alive = append(alive, d)
			return err
		})
	if err != nil {
		return nil, nil, 0, fmt.Errorf("ledger: %w", err)
	}
	return alive, expired, last, nil
}

func readDelivery(seq int64, recipients string, body []byte) (delivery.Delivery, error) {
	n, err := notice.Unmarshal(body)
	if err != nil {
		return delivery.Delivery{}, fmt.Errorf("delivery %d: %w", seq, err)
	}
	return delivery.Delivery{Seq: seq, Notice: n, Recipients: rows.Recipients(recipients)}, nil
}

// MarkSent implements ledger.Deliveries.
func (l *Ledger) MarkSent(ctx context.Context, receipts []delivery.Receipt) error {
	told := make([][3]any, len(receipts))
	seqs := make([]int64, len(receipts))
	for i, r := range receipts {
		told[i], seqs[i] = [3]any{r.Seq, r.Score, r.Epoch}, r.Seq
	}
	text, err := json.Marshal(told)
	if err != nil {
		return failed("mark sent", err)
	}
	var stale int64
	err = l.inTx(ctx, "mark sent", func(tx *sql.Tx) error {
		if _, err := one(ctx, tx, "stale-receipts", []any{string(text)}, &stale); err != nil {
			return err
		}
		if _, err := exec(ctx, tx, "mark-sent", string(text), l.clock()); err != nil {
			return err
		}
		return l.cancelReadAlready(ctx, tx, seqs)
	})
	if err == nil && stale > 0 {
		err = fmt.Errorf("%d receipts are of another epoch: %w", stale, ledger.ErrFenced)
	}
	return err
}

// MarkAttempt implements ledger.Deliveries.
func (l *Ledger) MarkAttempt(ctx context.Context, seqs []int64, cause string) error {
	_, err := l.exec(ctx, "mark-attempt", list(seqs), cause)
	return err
}

// MarkFailed implements ledger.Deliveries.
func (l *Ledger) MarkFailed(ctx context.Context, seqs []int64, cause string) error {
	_, err := l.exec(ctx, "mark-failed", list(seqs), cause)
	return err
}

// CountPending implements ledger.Deliveries.
func (l *Ledger) CountPending(ctx context.Context) (map[string]int64, error) {
	counts := map[string]int64{}
	var sink string
	var n int64
	if err := each(ctx, l.read, "count-pending", nil, []any{&sink, &n}, func() error { counts[sink] = n; return nil }); err != nil {
		return nil, failed("count pending", err)
	}
	return counts, nil
}

// CountDeliveries implements ledger.Deliveries.
func (l *Ledger) CountDeliveries(ctx context.Context) (map[string]map[ledger.DeliveryState]int64, error) {
	counts := map[string]map[ledger.DeliveryState]int64{}
	var sink string
	var state int16
	var n int64
	err := each(ctx, l.read, "count-deliveries", []any{ledger.MostCounted}, []any{&sink, &state, &n}, func() error {
		if n == 0 {
			return nil
		}
		if counts[sink] == nil {
			counts[sink] = map[ledger.DeliveryState]int64{}
		}
		counts[sink][ledger.DeliveryState(state)] = n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return counts, nil
}
