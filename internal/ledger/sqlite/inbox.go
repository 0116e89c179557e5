package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// InboxState implements ledger.InboxRecord.
func (l *Ledger) InboxState(ctx context.Context, sink string) (ledger.InboxState, error) {
	var s ledger.InboxState
	var ids string
	var lease int64
	found, err := one(ctx, l.read, "inbox-state", []any{sink}, &s.Epoch, &ids, &s.Building, &s.Node, &lease)
	if err != nil {
		return s, fmt.Errorf("ledger: %w", err)
	}
	if !found {
		return s, fmt.Errorf("%w: the epoch of sink %q", ledger.ErrNotFound, sink)
	}
	s.Lease = rows.Time(lease)
	s.RunIDs, err = rows.ParseTexts(ids)
	return s, err
}

// BeginEpoch implements ledger.InboxRecord.
func (l *Ledger) BeginEpoch(ctx context.Context, sink, prev string, next ledger.InboxState, node string, lease time.Duration) error {
	args := []any{sink, next.Epoch, rows.Texts(next.RunIDs), node, l.until(lease)}
	if prev == "" {
		return fencedIfNone(l.exec(ctx, "first-epoch", args...))
	}
	return fencedIfNone(l.exec(ctx, "next-epoch", append(args, l.clock(), prev)...))
}

// FinishEpoch implements ledger.InboxRecord.
func (l *Ledger) FinishEpoch(ctx context.Context, sink, epoch string) error {
	return fencedIfNone(l.exec(ctx, "finish-epoch", sink, epoch))
}

// HighestScores implements ledger.InboxRecord.
func (l *Ledger) HighestScores(ctx context.Context, sink string) (map[string]int64, error) {
	scores := map[string]int64{}
	var warehouse string
	var score int64
	err := each(ctx, l.read, "highest-scores", []any{sink}, []any{&warehouse, &score}, func() error {
		scores[warehouse] = score
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return scores, nil
}

// Delivered implements ledger.InboxRecord.
func (l *Ledger) Delivered(ctx context.Context, lane ledger.Lane, after int64, limit int) ([]ledger.Delivered, error) {
	id, err := l.findLane(ctx, lane)
	if err != nil || id == 0 {
		return nil, err
	}
	var out []ledger.Delivered
	var seq, score int64
	var recipients string
	var body sql.RawBytes
	err = each(ctx, l.read, "delivered", []any{id, after, limit, l.clock()}, []any{&seq, &score, &recipients, &body},
		func() error {
			d, err := delivery(seq, recipients, body)
			out = append(out, ledger.Delivered{Delivery: d, Score: score})
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return out, nil
}
