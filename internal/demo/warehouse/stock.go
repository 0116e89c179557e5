package warehouse

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

const pickBins = 24 // per warehouse

var carriers = []string{"DHL", "SF Express", "DPD", "UPS"}

func binCode(i int) string { return fmt.Sprintf("%c-%02d", 'A'+i/8, i%8+1) }

func sku(i int) string { return fmt.Sprintf("S%03d", i+1) }

// stock puts goods into an empty warehouse: full pick bins, and lots of which a few are old.
func (s *site) stock(ctx context.Context, tx *sql.Tx, name, timezone string, now time.Time) error {
	exec := func(query string, args ...any) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	}
	if err := exec(`INSERT INTO warehouses VALUES (?, ?, ?)`, s.id, name, timezone); err != nil {
		return err
	}
	for i := range pickBins {
		if err := exec(`INSERT OR IGNORE INTO skus VALUES (?, ?, 'piece')`, sku(i), "Article "+sku(i)); err != nil {
			return err
		}
		if err := exec(`INSERT INTO bins VALUES (?, ?, 'pick', 10)`, s.id, binCode(i)); err != nil {
			return err
		}
		err := exec(`INSERT INTO bin_stock VALUES (?, ?, ?, ?, NULL, ?)`, s.id, binCode(i), sku(i), 12+s.rng.IntN(30), stamp(now))
		if err != nil {
			return err
		}
		days := 2 + 2*i // the first lots are near their date
		err = exec(`INSERT INTO lots VALUES (?, ?, ?, ?, ?)`, s.id, fmt.Sprintf("L%d-%02d", s.id%100, i+1), sku(i),
			20+s.rng.IntN(80), now.UTC().AddDate(0, 0, days).Format(time.DateOnly))
		if err != nil {
			return err
		}
	}
	return nil
}
