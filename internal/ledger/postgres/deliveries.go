package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
	"tallyman/internal/notice"
)

// Pending implements ledger.Deliveries.
func (l *Ledger) Pending(ctx context.Context, lane ledger.Lane, limit int) ([]delivery.Delivery, error) {
	id, err := l.findLane(ctx, lane)
	if err != nil {
		if errors.Is(err, ledger.ErrNotFound) {
			return nil, nil
		}
		return nil, err
	}
	var out []delivery.Delivery
	var after int64
	for len(out) < limit {
		page, err := l.pendingPage(ctx, id, after, limit-len(out))
		if err != nil {
			return nil, err
		}
		if len(page.expired) > 0 {
			if _, err := l.exec(ctx, "cancel", page.expired); err != nil {
				return nil, err
			}
		}
		out = append(out, page.alive...)
		if len(page.expired) == 0 { // else as many more may follow
			break
		}
		after = page.last
	}
	return out, nil
}

// pendingPage is a stretch of a lane.
type pendingPage struct {
	alive   []delivery.Delivery
	expired []int64
	last    int64
}

func (l *Ledger) pendingPage(ctx context.Context, lane int32, after int64, limit int) (pendingPage, error) {
	var p pendingPage
	found, err := l.pool.Query(ctx, queries.Get("pending"), lane, after, limit, l.clock())
	if err != nil {
		return p, failed("pending", err)
	}
	var seq int64
	var expired bool
	var recipients string
	var raw []byte
	_, err = pgx.ForEachRow(found, []any{&seq, &expired, &recipients, &raw}, func() error {
		p.last = seq
		if expired {
			p.expired = append(p.expired, seq)
			return nil
		}
		d, err := readDelivery(seq, recipients, raw)
		p.alive = append(p.alive, d)
		return err
	})
	if err != nil {
		return p, failed("pending", err)
	}
	return p, nil
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
	seqs := make([]int64, len(receipts))
	scores := make([]int64, len(receipts))
	epochs := make([]string, len(receipts))
	for i, r := range receipts {
		seqs[i], scores[i], epochs[i] = r.Seq, r.Score, r.Epoch
	}
	marked, err := l.exec(ctx, "mark-sent", seqs, scores, epochs, l.clock())
	if err != nil {
		return err
	}
	if err := l.cancelReadAlready(ctx, seqs); err != nil || marked == int64(len(receipts)) {
		return err
	}
	var stale int64
	if err := l.pool.QueryRow(ctx, queries.Get("still-pending"), seqs).Scan(&stale); err != nil {
		return failed("mark sent", err)
	}
	if stale > 0 {
		return fmt.Errorf("%d receipts are of another epoch: %w", stale, ledger.ErrFenced)
	}
	return nil
}

// MarkAttempt implements ledger.Deliveries.
func (l *Ledger) MarkAttempt(ctx context.Context, seqs []int64, cause string) error {
	_, err := l.exec(ctx, "mark-attempt", seqs, cause)
	return err
}

// MarkFailed implements ledger.Deliveries.
func (l *Ledger) MarkFailed(ctx context.Context, seqs []int64, cause string) error {
	_, err := l.exec(ctx, "mark-failed", seqs, cause)
	return err
}

// CountPending implements ledger.Deliveries.
func (l *Ledger) CountPending(ctx context.Context) (map[string]int64, error) {
	counts := map[string]int64{}
	found, err := l.pool.Query(ctx, queries.Get("count-pending"))
	if err != nil {
		return nil, failed("count pending", err)
	}
	var sink string
	var n int64
	if _, err := pgx.ForEachRow(found, []any{&sink, &n}, func() error { counts[sink] = n; return nil }); err != nil {
		return nil, failed("count pending", err)
	}
	return counts, nil
}

// CountDeliveries implements ledger.Deliveries.
func (l *Ledger) CountDeliveries(ctx context.Context) (map[string]map[ledger.DeliveryState]int64, error) {
	counts := map[string]map[ledger.DeliveryState]int64{}
	found, err := l.pool.Query(ctx, queries.Get("count-deliveries"), ledger.MostCounted)
	if err != nil {
		return nil, failed("count deliveries", err)
	}
	var sink string
	var state int16
	var n int64
	_, err = pgx.ForEachRow(found, []any{&sink, &state, &n}, func() error {
		if counts[sink] == nil {
			counts[sink] = map[ledger.DeliveryState]int64{}
		}
		counts[sink][ledger.DeliveryState(state)] = n
		return nil
	})
	if err != nil {
		return nil, failed("count deliveries", err)
	}
	return counts, nil
}
