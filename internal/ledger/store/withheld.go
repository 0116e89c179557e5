package store

import (
	"context"
	"math"

	"tallyman/internal/item"
	"tallyman/internal/ledger/codec"
)

// WithholdItems implements item.Withholding.
func (s *queueStore) WithholdItems(ctx context.Context, queue string, list []item.Withheld) error {
	id, found, err := s.IDs.Queue(ctx, queue)
	if err != nil || !found || len(list) == 0 {
		return err
	}
	w := codec.NewWithholdings(list)
	return s.db.InTx(ctx, "withhold items", func(tx Conn) error {
		w.Begin()
		if err := tx.Each(ctx, "standing-items", []any{id, w.Seqs}, w.Columns(), w.Add); err != nil {
			return err
		}
		rows, err := w.Rows()
		if err != nil || rows == "" {
			return err
		}
		for _, name := range []string{"withhold-items", "mark-withheld"} {
			if _, err := tx.Exec(ctx, name, id, rows); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, "trace-withheld", rows)
		return err
	})
}

// WithheldItems implements item.Withholding.
func (s *queueStore) WithheldItems(
	ctx context.Context, queue string, scope item.Scope, before int64, limit int,
) (page []item.Record, next int64, err error) {
	id, found, err := s.IDs.Queue(ctx, queue)
	if err != nil || !found {
		return nil, 0, err
	}
	if before <= 0 {
		before = math.MaxInt64
	}
	var warehouses any
	if scope != nil {
		warehouses = []string(scope)
	}
	var row codec.Item
	records, err := s.records(ctx, "withheld-items", []any{id, before, limit + 1, warehouses}, &row, row.Columns())
	if err != nil {
		return nil, 0, err
	}
	page, next = codec.Page(records, limit, 0)
	return page, next, nil
}

// CountWithheld implements ledger.Queues.
func (s *queueStore) CountWithheld(ctx context.Context) (map[string]int64, error) {
	return countBy(ctx, s.db, "count-withheld")
}
