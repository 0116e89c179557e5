package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// InboxState implements ledger.InboxRecord.
func (l *Ledger) InboxState(ctx context.Context, sink string) (ledger.InboxState, error) {
	var s ledger.InboxState
	var ids string
	var lease int64
	err := l.pool.QueryRow(ctx, queries.Get("inbox-state"), sink).Scan(&s.Epoch, &ids, &s.Building, &s.Node, &lease)
	if errors.Is(err, pgx.ErrNoRows) {
		return s, fmt.Errorf("%w: the epoch of sink %q", ledger.ErrNotFound, sink)
	}
	if err != nil {
		return s, failed("inbox state", err)
	}
	s.Lease = rows.Time(lease)
	s.RunIDs, err = rows.ParseTexts(ids)
	return s, err
}

// BeginEpoch implements ledger.InboxRecord.
func (l *Ledger) BeginEpoch(ctx context.Context, sink, prev string, next ledger.InboxState, node string, lease time.Duration) error {
	args := []any{sink, next.Epoch, rows.Texts(next.RunIDs), node, lease.Microseconds(), l.clock()}
	if prev == "" {
		return fencedIfNone(l.exec(ctx, "first-epoch", args...))
	}
	return fencedIfNone(l.exec(ctx, "next-epoch", append(args, prev)...))
}

// FinishEpoch implements ledger.InboxRecord.
func (l *Ledger) FinishEpoch(ctx context.Context, sink, epoch string) error {
	return fencedIfNone(l.exec(ctx, "finish-epoch", sink, epoch))
}

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
		d, err := delivery(seq, recipients, body)
		out = append(out, ledger.Delivered{Delivery: d, Score: score})
		return err
	})
	if err != nil {
		return nil, failed("delivered", err)
	}
	return out, nil
}
