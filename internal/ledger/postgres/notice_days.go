package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger/codec"
	"tallyman/internal/notice"
)

const (
	// lasting is the shortest life of the notices in the index notices_lasting.
	lasting = 7 * 24 * time.Hour
	// justExpired is how long an expired notice is still kept, so that its deliveries are canceled before it goes.
	justExpired = time.Hour
)

// stayingNotices keeps the notices that must outlive their day, with their deliveries.
func (e engine) stayingNotices(ctx context.Context, day notice.Day, before time.Time) (func(pgx.Tx) error, error) {
	// This list stays complete. A finding can take over an old notice only from another finding, and that finding names
	// the notice now.
	named, err := query(ctx, e.Ledger, "named-notices", pgx.RowTo[string], day.IDs(), (day + 1).IDs())
	if err != nil {
		return nil, err
	}
	if err := e.prunePushes(ctx, day); err != nil {
		return nil, err
	}
	return func(tx pgx.Tx) error {
		found, err := tx.Query(ctx, leaving("staying", day), pgx.QueryExecModeExec, codec.Micros(before), named, e.NowArg(), justExpired.Microseconds(), lasting.Microseconds())
		if err != nil {
			return err
		}
		stay, err := pgx.CollectRows(found, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, name := range []string{"keep-notices", "keep-deliveries"} {
			if _, err := tx.Exec(ctx, leaving(name, day), pgx.QueryExecModeExec, stay); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	}, nil
}

// prunePushes removes the rows in pushes of a day's deliveries to push channels. Operators cannot retry these
// deliveries afterwards.
func (e engine) prunePushes(ctx context.Context, day notice.Day) error {
	for after := new(int64); after != nil; {
		found, err := e.pool.Query(ctx, leaving("prune-day-pushes", day), pgx.QueryExecModeExec, *after, pruneBatch, e.NowArg(), justExpired.Microseconds())
		if err != nil {
			return err
		}
		// undefinedTable: another node has dropped the partition. after is then nil, and the loop ends.
		if after, err = pgx.CollectExactlyOneRow(found, pgx.RowTo[*int64]); err != nil && !hasState(err, undefinedTable) {
			return err
		}
	}
	return nil
}

// pruneMarks removes the marks of notices from days before keep. The partitions of these days were dropped.
func (e engine) pruneMarks(ctx context.Context, keep notice.Day) error {
	after := notice.FirstDay.IDs()
	for next := &after; next != nil; {
		if _, err := e.One(ctx, "prune-day-marks", []any{*next, keep.IDs(), pruneBatch}, &next); err != nil {
			return err
		}
	}
	return nil
}
