package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/scanners"
)

//go:embed clock.sql
var clockSQL string

// Clock returns the server's time, in the time zone that the database has for the source's user. Pooled connections set
// the source's zone, so Clock opens a connection of its own, which sets none.
func (s *Source) Clock(ctx context.Context) (time.Time, error) {
	config := s.pool.Config().ConnConfig
	delete(config.RuntimeParams, "timezone")
	ctx, cancel := context.WithTimeout(ctx, s.timeout+config.ConnectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return time.Time{}, s.mapError(ctx, err, "")
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	found, err := s.query(ctx, conn.PgConn(), clockSQL)
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
