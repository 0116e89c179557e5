package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"tallyman/scanners"
)

const clockSQL = `SELECT CAST(UTC_TIMESTAMP(6) AS CHAR), @@GLOBAL.time_zone, @@system_time_zone,
	TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', @@GLOBAL.time_zone))`

// Clock returns the server's time, in the time zone in which its sessions begin.
func (s *Source) Clock(ctx context.Context) (time.Time, error) {
	var clock time.Time
	err := s.look(ctx, func(ctx context.Context, t *transaction) error {
		var now, zone, system string
		var ahead sql.NullInt64 // NULL if the server has no tables for the zone
		if err := t.conn.QueryRowContext(ctx, clockSQL).Scan(&now, &zone, &system, &ahead); err != nil {
			return err
		}
		if zone == "SYSTEM" {
			zone = cmp.Or(system, zone)
		}
		instant, err := time.Parse(timeForm, now)
		if err != nil {
			return fmt.Errorf("the server's time: %w", err)
		}
		clock = scanners.ServerTime(instant, zone, int(ahead.Int64))
		return nil
	})
	return clock, err
}
