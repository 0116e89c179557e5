package warehouse

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// minute is one minute of one warehouse, in one transaction.
type minute struct {
	*site
	ctx  context.Context //nolint:containedctx // lives as long as the transaction beside it
	tx   *sql.Tx
	now  time.Time
	tell func(format string, args ...any)
	calm bool // refills are left to others
}

// live does what happens in a minute, in the order in which a shift does it.
func (m *minute) live() error {
	for _, act := range []func() error{m.release, m.pick, m.ship, m.refill, m.count, m.scrap} {
		if err := act(); err != nil {
			return err
		}
	}
	return nil
}

// chance is true once in n minutes on average.
func (m *minute) chance(n int) bool { return m.rng.IntN(n) == 0 }

// in returns a time between from and to minutes from now.
func (m *minute) in(from, to int) time.Time {
	return m.now.Add(time.Duration(from+m.rng.IntN(to-from+1)) * time.Minute)
}

func (m *minute) exec(query string, args ...any) error {
	if _, err := m.tx.ExecContext(m.ctx, query, args...); err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	return nil
}

// all runs a query and gives each row's scanner to visit.
func (m *minute) all(visit func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := m.tx.QueryContext(m.ctx, query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
