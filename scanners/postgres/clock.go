package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"tallyman/scanners"
)

//go:embed clock.sql
var clockSQL string

// Clock returns the server's time, in the time zone that the database has for the source's user.
func (s *Source) Clock(ctx context.Context) (time.Time, error) {
	conn, err := s.begin(ctx, s.timeout)
	if err != nil {
		return time.Time{}, err
	}
	defer s.end(ctx, conn)
	found, err := s.query(ctx, conn.Conn().PgConn(), clockSQL)
	if err != nil {
		return time.Time{}, err
	}
	micros, err := strconv.ParseInt(found[0][0], 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the server's time: %w", err)
	}
	ahead, err := strconv.Atoi(found[0][2])
	if err != nil {
		return time.Time{}, fmt.Errorf("the server's time zone: %w", err)
	}
	return scanners.ServerTime(time.UnixMicro(micros), found[0][1], ahead), nil
}
