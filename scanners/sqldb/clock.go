package sqldb

import (
	"context"
	"time"

	"tallyman/scanners"
)

// ServerClock runs a query that returns one value: the server's time with the offset of its zone.
func (s *Source) ServerClock(ctx context.Context, query string) (time.Time, error) {
	var clock time.Time
	err := s.Do(ctx, func(ctx context.Context, tx Transaction) error {
		rows, free, err := tx.Query(ctx, query, nil)
		if err != nil {
			return err
		}
		defer free()
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			if err := rows.Scan(&clock); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	_, ahead := clock.Zone()
	return scanners.ServerTime(clock, clock.Format("-07:00"), ahead), err
}
