package warehouse

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// refill sends a forklift to every pick bin below its minimum. The forklift arrives some minutes later.
func (m *minute) refill() error {
	var low []string
	err := m.all(func(scan func(...any) error) error {
		var bin string
		err := scan(&bin)
		low = append(low, bin)
		return err
	}, `SELECT s.bin_code FROM bin_stock s JOIN bins b USING (wh_id, bin_code)
		WHERE s.wh_id = ? AND s.qty < b.min_qty ORDER BY s.bin_code`, m.id)
	if err != nil {
		return err
	}
	for _, bin := range low {
		at, sent := m.refills[bin]
		if !sent {
			m.refills[bin] = m.forklift()
			continue
		}
		if at.After(m.now) {
			continue
		}
		delete(m.refills, bin)
		qty := 30 + m.rng.IntN(30)
		if err := m.exec(`UPDATE bin_stock SET qty = qty + ?, updated_at = ? WHERE wh_id = ? AND bin_code = ?`, qty, stamp(m.now), m.id, bin); err != nil {
			return err
		}
		m.tell("bin %s refilled with %d", bin, qty)
	}
	return nil
}

// forklift returns when a forklift arrives. After LeaveRefills it arrives late, as if somebody saw the empty bin by
// chance.
func (m *minute) forklift() time.Time {
	if m.calm {
		return m.in(60, 120)
	}
	return m.in(6, 25)
}

// count books a cycle count now and then. One in three differs from the book stock, which is then corrected.
func (m *minute) count() error {
	if !m.chance(4) {
		return nil
	}
	bin := binCode(m.rng.IntN(pickBins))
	var article string
	var book int64
	err := m.tx.QueryRowContext(m.ctx, `SELECT sku, CAST(qty AS INTEGER) FROM bin_stock WHERE wh_id = ? AND bin_code = ?`, m.id, bin).Scan(&article, &book)
	if err != nil {
		return fmt.Errorf("count %s: %w", bin, err)
	}
	if book < 0 {
		return nil // A bin that waits for its refill is not counted.
	}
	counted := book
	if m.chance(3) {
		counted = max(0, book-4+int64(m.rng.IntN(12)))
	}
	err = m.exec(`INSERT INTO stock_counts (wh_id, bin_code, sku, book_qty, counted_qty, counted_by, counted_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		m.id, bin, article, book, counted, fmt.Sprintf("counter %d", 1+m.rng.IntN(3)), stamp(m.now))
	if err != nil || counted == book {
		return err
	}
	m.tell("count of %s: %d, the book said %d", bin, counted, book)
	return m.exec(`UPDATE bin_stock SET qty = ?, updated_at = ? WHERE wh_id = ? AND bin_code = ?`, counted, stamp(m.now), m.id, bin)
}

// scrap throws the oldest lot away, now and then, if it is about to expire.
func (m *minute) scrap() error {
	if !m.chance(40) {
		return nil
	}
	var lot string
	err := m.tx.QueryRowContext(m.ctx, `UPDATE lots SET qty = 0 WHERE rowid = (
			SELECT rowid FROM lots WHERE wh_id = ? AND qty > 0 AND expires_on < ? ORDER BY expires_on LIMIT 1)
		RETURNING lot_no`, m.id, m.now.UTC().AddDate(0, 0, 7).Format("2006-01-02")).Scan(&lot)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("scrap a lot: %w", err)
	}
	m.tell("lot %s scrapped", lot)
	return nil
}

// LeaveRefills leaves the refills of bins to callers of Refill. A bin without a refill for an hour or two is refilled
// by the simulator after all.
func (s *Simulator) LeaveRefills() { s.calm = true }

// Refill fills a pick bin and makes an event that names who did it. It returns false where the bin is not below its
// minimum, or is no pick bin.
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

// fill puts goods into a bin below its minimum, and returns how many.
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
