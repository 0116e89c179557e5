package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
)

// HighestScores implements ledger.InboxRecord.
func (l *Ledger) HighestScores(ctx context.Context, sink string) (map[string]int64, error) {
	scores := map[string]int64{}
	found, err := l.pool.Query(ctx, queries.Get("highest-scores"), sink)
	if err != nil {
		return nil, failed("highest scores", err)
	}
	var warehouse string
	var score int64
	_, err = pgx.ForEachRow(found, []any{&warehouse, &score}, func() error { scores[warehouse] = score; return nil })
	if err != nil {
		return nil, failed("highest scores", err)
	}
	return scores, nil
}

// Delivered implements ledger.InboxRecord.
func (l *Ledger) Delivered(ctx context.Context, lane ledger.Lane, after int64, limit int) ([]ledger.Delivered, error) {
	id, err := l.findLane(ctx, lane)
	if err != nil {
		if errors.Is(err, ledger.ErrNotFound) {
			return nil, nil
		}
		return nil, err
	}
	found, err := l.pool.Query(ctx, queries.Get("delivered"), id, after, limit, l.clock())
	if err != nil {
		return nil, failed("delivered", err)
	}
	var out []ledger.Delivered
	var seq, score int64
	var recipients string
	var body []byte
	_, err = pgx.ForEachRow(found, []any{&seq, &score, &recipients, &body}, func() error {
		d, err := readDelivery(seq, recipients, body)
		out = append(out, ledger.Delivered{Delivery: d, Score: score})
		return err
	})
	if err != nil {
		return nil, failed("delivered", err)
	}
	return out, nil
}
