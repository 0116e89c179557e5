package store

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
)

// inboxStore is ledger.Inbox without the methods that each engine implements itself.
type inboxStore struct{ *base }

// IndexState implements delivery.IndexRecord.
func (s *inboxStore) IndexState(ctx context.Context, sink string) (ledger.IndexState, error) {
	var state ledger.IndexState
	var ids string
	var left int64
	found, err := s.db.One(ctx, "index-state", []any{sink, s.LeaseArg()}, &state.Epoch, &ids, &state.Building, &state.Node, &left)
	if err != nil {
		return state, err
	}
	if !found {
		return state, fmt.Errorf("%w: the epoch of sink %q", ledger.ErrNotFound, sink)
	}
	now := time.Now
	if s.now != nil {
		now = s.now
	}
	state.Lease = now().Add(codec.Span(left))
	state.RunIDs, err = codec.ParseTexts(ids)
	return state, err
}

// BeginEpoch implements delivery.IndexRecord.
func (s *inboxStore) BeginEpoch(ctx context.Context, sink, prev string, next ledger.IndexState, node string, lease time.Duration) error {
	args := []any{sink, next.Epoch, codec.Texts(next.RunIDs), node, lease.Microseconds(), s.LeaseArg()}
	if prev == "" {
		return FencedIfNone(s.db.Exec(ctx, "first-epoch", args...))
	}
	return FencedIfNone(s.db.Exec(ctx, "next-epoch", append(args, prev)...))
}

// FinishEpoch implements delivery.IndexRecord.
func (s *inboxStore) FinishEpoch(ctx context.Context, sink, epoch string) error {
	return FencedIfNone(s.db.Exec(ctx, "finish-epoch", sink, epoch))
}

// HighestScores implements delivery.InboxRecord.
func (s *inboxStore) HighestScores(ctx context.Context, sink string) (map[string]int64, error) {
	return countBy(ctx, s.db, "highest-scores", sink)
}

// Delivered implements delivery.InboxRecord.
func (s *inboxStore) Delivered(ctx context.Context, lane ledger.Lane, after int64, limit int) ([]ledger.ScoredDelivery, error) {
	id, found, err := s.IDs.Lane(ctx, lane)
	if err != nil || !found {
		return nil, err
	}
	var seq, score int64
	var recipients string
	var b body
	args := []any{id, after, limit, s.NowArg()}
	return list(ctx, s.db, "delivered", args, []any{&seq, &score, &recipients, &b}, func() (ledger.ScoredDelivery, error) {
		d, err := readDelivery(seq, recipients, b)
		return ledger.ScoredDelivery{Delivery: d, Score: score}, err
	})
}

// cancelBatch bounds how many deliveries a read-all cancels in one transaction.
const cancelBatch = 500

// ReadAll implements ledger.Marks.
func (s *inboxStore) ReadAll(ctx context.Context, r ledger.ReadAll) (canceled int, err error) {
	if _, err := s.db.Exec(ctx, "raise-reads", r.Warehouse, r.User, r.Inboxes, r.UpTo, codec.Micros(r.At)); err != nil {
		return 0, err
	}
	after := int64(0)
	for {
		batch, err := s.db.CancelRead(ctx, &r, after, cancelBatch)
		canceled += len(batch)
		if err != nil || len(batch) < cancelBatch {
			return canceled, err
		}
		after = batch[len(batch)-1]
	}
}

// MarksOf implements ledger.Marks.
func (s *inboxStore) MarksOf(ctx context.Context, notice string) ([]ledger.Mark, error) {
	var row codec.Mark
	return list(ctx, s.db, "marks", []any{notice}, row.Columns(), func() (ledger.Mark, error) { return row.Mark(notice), nil })
}

// LiveMarks implements delivery.MarkRecord.
func (s *inboxStore) LiveMarks(ctx context.Context, after delivery.Mark, limit int) ([]delivery.Mark, error) {
	return s.markPage(ctx, "live-marks", after.Expires, &after, limit, s.NowArg())
}

// RecentMarks implements delivery.MarkRecord.
func (s *inboxStore) RecentMarks(ctx context.Context, after delivery.Mark, limit int) ([]delivery.Mark, error) {
	return s.markPage(ctx, "recent-marks", after.At, &after, limit)
}

func (s *inboxStore) markPage(ctx context.Context, name string, first time.Time, after *delivery.Mark, more ...any) ([]delivery.Mark, error) {
	var row codec.MarkRow
	args := append(codec.PlaceAfter(first, after), more...)
	return list(ctx, s.db, name, args, row.Columns(), func() (delivery.Mark, error) { return row.Mark(), nil })
}

// Watermarks implements delivery.MarkRecord.
func (s *inboxStore) Watermarks(ctx context.Context, after delivery.Watermark, limit int) ([]delivery.Watermark, error) {
	var row codec.Read
	args := []any{codec.Micros(after.At), after.Warehouse, after.User, after.Inbox, limit}
	return list(ctx, s.db, "reads", args, row.Columns(), func() (delivery.Watermark, error) { return row.Watermark(), nil })
}
