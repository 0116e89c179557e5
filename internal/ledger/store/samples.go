package store

import (
	"context"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
)

// CountRuleFindings implements ledger.Samples.
func (s *historyStore) CountRuleFindings(ctx context.Context) ([]ledger.RuleFindings, error) {
	var c ledger.RuleFindings
	return list(ctx, s.db, "count-rule-findings", nil, []any{&c.Warehouse, &c.Rule, &c.Firing, &c.Pending}, func() (ledger.RuleFindings, error) { return c, nil })
}

// FailedRuns implements ledger.Samples.
func (s *historyStore) FailedRuns(ctx context.Context, since time.Time, limit int) ([]ledger.Run, error) {
	var row codec.Run
	return list(ctx, s.db, "failed-runs", []any{codec.Micros(since), limit}, row.Columns(), row.Last)
}

// WaitingDeliveries implements ledger.Samples.
func (s *historyStore) WaitingDeliveries(ctx context.Context, now time.Time, limit int) ([]ledger.WaitingDelivery, error) {
	var d ledger.WaitingDelivery
	var since int64
	return list(ctx, s.db, "waiting-deliveries", []any{codec.Micros(now), limit}, []any{&d.Warehouse, &d.Type, &since}, func() (ledger.WaitingDelivery, error) {
		d.Since = codec.Time(since)
		return d, nil
	})
}

// ClaimSample implements ledger.Samples.
func (s *historyStore) ClaimSample(ctx context.Context, step time.Duration, start time.Time) (bool, error) {
	n, err := s.db.Exec(ctx, "claim-sample", step.Microseconds(), codec.Micros(start))
	return n > 0, err
}

// RecordSamples implements ledger.Samples.
func (s *historyStore) RecordSamples(ctx context.Context, step time.Duration, list []ledger.Sample) error {
	return s.db.InTx(ctx, "record samples", func(tx Conn) error {
		for i := range list {
			text, err := codec.FiguresText(list[i].Figures)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "record-sample", step.Microseconds(), codec.Micros(list[i].Start), list[i].Taken, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// Samples implements ledger.Samples.
func (s *historyStore) Samples(ctx context.Context, step time.Duration, from, to time.Time) ([]ledger.Sample, error) {
	var start int64
	var taken int
	var text string
	args := []any{step.Microseconds(), codec.Micros(from), codec.Micros(to)}
	return list(ctx, s.db, "samples", args, []any{&start, &taken, &text}, func() (ledger.Sample, error) {
		figures, err := codec.ParseFigures(text)
		return ledger.Sample{Start: codec.Time(start), Taken: taken, Figures: figures}, err
	})
}

// LastSample implements ledger.Samples.
func (s *historyStore) LastSample(ctx context.Context, step time.Duration) (time.Time, error) {
	var start int64
	if _, err := s.db.One(ctx, "last-sample", []any{step.Microseconds()}, &start); err != nil || start == 0 {
		return time.Time{}, err
	}
	return codec.Time(start), nil
}

// PruneSamples implements ledger.Samples.
func (s *historyStore) PruneSamples(ctx context.Context, step time.Duration, before time.Time) error {
	_, err := s.db.Exec(ctx, "prune-samples", step.Microseconds(), codec.Micros(before))
	return err
}
