package warehouse

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// LeaveRefills leaves the refilling of bins to those who call Refill. A bin that nobody refills for an hour or two is
// refilled all the same.
func (s *Simulator) LeaveRefills() { s.calm = true }

// Refill fills a pick bin up, and tells who did it. It returns false where the bin needs nothing, or is none.
func (s *Simulator) Refill(ctx context.Context, now time.Time, warehouse, bin, by string) (filled bool, err error) {
	for _, st := range s.sites {
		if st.name != warehouse {
			continue
		}
		var qty int
		err := inTx(ctx, s.db, func(tx *sql.Tx) (err error) {
			qty, err = st.fill(ctx, tx, now, bin)
			return err
		})
		if err != nil {
			return false, fmt.Errorf("refill %s in warehouse %s: %w", bin, warehouse, err)
		}
		if qty > 0 {
			delete(st.refills, bin)
			s.tell(Event{At: now, Warehouse: warehouse, Text: fmt.Sprintf("%s refilled bin %s with %d", by, bin, qty)})
		}
		return qty > 0, nil
	}
	return false, nil
}

// fill puts goods into a bin that is below its minimum, and returns how many.
func (s *site) fill(ctx context.Context, tx *sql.Tx, now time.Time, bin string) (qty int, err error) {
	qty = 30 + s.rng.IntN(30)
	err = tx.QueryRowContext(ctx, `UPDATE bin_stock SET qty = qty + ?, updated_at = ?
		WHERE wh_id = ? AND bin_code = ? AND qty < (SELECT min_qty FROM bins WHERE wh_id = bin_stock.wh_id AND bin_code = bin_stock.bin_code)
		RETURNING ?`, qty, stamp(now), s.id, bin, qty).Scan(&qty)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return qty, err
}
