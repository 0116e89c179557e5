package warehouse

import (
	"fmt"
	"time"
)

const linesPerMinute = 3 // The lines that the pickers of a wave book in a minute.

// release starts a wave every few minutes: some orders, each with a truck to catch.
func (m *minute) release() error {
	if !m.chance(6) {
		return nil
	}
	wave := m.nextWave
	m.nextWave++
	if err := m.exec(`INSERT INTO waves VALUES (?, ?, 'released', ?, ?)`, m.id, wave, stamp(m.now), stamp(m.now)); err != nil {
		return err
	}
	orders, line := 3+m.rng.IntN(4), 0
	for range orders {
		order := fmt.Sprintf("O%d-%05d", m.id%100, m.nextOrder)
		m.nextOrder++
		err := m.exec(`INSERT INTO orders VALUES (?, ?, ?, ?, 'open', ?, NULL)`, m.id, order, wave, carriers[m.rng.IntN(len(carriers))], stamp(m.in(18, 60)))
		if err != nil {
			return err
		}
		for range 1 + m.rng.IntN(3) {
			line++
			i := m.rng.IntN(pickBins)
			err := m.exec(`INSERT INTO wave_lines VALUES (?, ?, ?, ?, ?, ?, ?, 0)`, m.id, wave, line, order, binCode(i), sku(i), 2+m.rng.IntN(14))
			if err != nil {
				return err
			}
		}
	}
	if m.chance(4) {
		m.stuck[wave] = m.in(18, 35) // As if the picker was called away.
		m.tell("wave %d released: %d orders, %d lines; its picker is called away", wave, orders, line)
		return nil
	}
	m.tell("wave %d released: %d orders, %d lines", wave, orders, line)
	return nil
}

type openLine struct {
	wave, line int64
	bin, sku   string
	qty        int64
}

// pick books the next lines of every wave that somebody works on.
func (m *minute) pick() error {
	var lines []openLine
	err := m.all(func(scan func(...any) error) error {
		var l openLine
		err := scan(&l.wave, &l.line, &l.bin, &l.sku, &l.qty)
		lines = append(lines, l)
		return err
	}, `SELECT wave_no, line_no, bin_code, sku, CAST(qty AS INTEGER) FROM wave_lines WHERE wh_id = ? AND picked = 0 ORDER BY wave_no, line_no`, m.id)
	if err != nil {
		return err
	}
	booked := map[int64]int{}
	for _, l := range lines {
		if m.stuck[l.wave].After(m.now) || booked[l.wave] == linesPerMinute {
			continue
		}
		booked[l.wave]++
		if err := m.book(l); err != nil {
			return err
		}
	}
	for _, l := range lines { // In the order of the waves, so that the same seed gives the same day.
		if booked[l.wave] == 0 {
			continue
		}
		delete(booked, l.wave)
		if err := m.progress(l.wave); err != nil {
			return err
		}
	}
	return nil
}

// book takes the goods of a line out of its bin, even when the book stock is too low: the goods are in the bin, but the
// refill is not booked yet.
func (m *minute) book(l openLine) error {
	if err := m.exec(`UPDATE wave_lines SET picked = 1 WHERE wh_id = ? AND wave_no = ? AND line_no = ?`, m.id, l.wave, l.line); err != nil {
		return err
	}
	var left int64
	err := m.tx.QueryRowContext(m.ctx, `UPDATE bin_stock SET qty = qty - ?, wave_no = ?, updated_at = ?
		WHERE wh_id = ? AND bin_code = ? AND sku = ? RETURNING CAST(qty AS INTEGER)`,
		l.qty, l.wave, stamp(m.now), m.id, l.bin, l.sku).Scan(&left)
	if err != nil {
		return fmt.Errorf("book line %d of wave %d: %w", l.line, l.wave, err)
	}
	if left < 0 {
		m.tell("wave %d drove bin %s to %d", l.wave, l.bin, left)
	}
	return nil
}

// progress records the progress of a wave. With the last line of the wave, progress closes the wave.
func (m *minute) progress(wave int64) error {
	var open int
	err := m.tx.QueryRowContext(m.ctx, `SELECT count(*) FROM wave_lines WHERE wh_id = ? AND wave_no = ? AND picked = 0`, m.id, wave).Scan(&open)
	if err != nil {
		return fmt.Errorf("progress of wave %d: %w", wave, err)
	}
	status := "picking"
	if open == 0 {
		status = "done"
		delete(m.stuck, wave)
		if err := m.exec(`UPDATE orders SET status = 'picked' WHERE wh_id = ? AND wave_no = ?`, m.id, wave); err != nil {
			return err
		}
		m.tell("wave %d picked", wave)
	}
	return m.exec(`UPDATE waves SET status = ?, progress_at = ? WHERE wh_id = ? AND wave_no = ?`, status, stamp(m.now), m.id, wave)
}

// ship loads picked orders after a few minutes; some stand at the dock for too long.
func (m *minute) ship() error {
	var picked []string
	err := m.all(func(scan func(...any) error) error {
		var order string
		err := scan(&order)
		picked = append(picked, order)
		return err
	}, `SELECT order_no FROM orders WHERE wh_id = ? AND status = 'picked' ORDER BY order_no`, m.id)
	if err != nil {
		return err
	}
	for _, order := range picked {
		at, known := m.shipping[order]
		if !known {
			at = m.in(3, 8)
			if m.chance(8) {
				at = at.Add(40 * time.Minute)
			}
			m.shipping[order] = at
		}
		if at.After(m.now) {
			continue
		}
		delete(m.shipping, order)
		if err := m.exec(`UPDATE orders SET status = 'shipped', shipped_at = ? WHERE wh_id = ? AND order_no = ?`, stamp(m.now), m.id, order); err != nil {
			return err
		}
	}
	return nil
}
