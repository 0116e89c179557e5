package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"tallyman/internal/ledger"
)

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
			d, err := readDelivery(seq, recipients, body)
			out = append(out, ledger.Delivered{Delivery: d, Score: score})
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return out, nil
}
