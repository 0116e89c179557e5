package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger/codec"
	"tallyman/internal/notice"
)

// Notices and ended deliveries lie in partitions of days, which are dropped as a whole; docs/adr/ledger-partitions.md.

const (
	daysMade = 7 // partitions are made so many days ahead
	// keptBeyond is how many whole days a partition is kept beyond what is pruned. A notice is made on the day of its episode or on the next; of
	// those that are made later a copy is kept.
	keptBeyond = 2
	// lasting is the life from which on a notice is in the index notices_lasting.
	lasting = 7 * 24 * time.Hour
	// justExpired is for how long a notice is kept that has expired: its deliveries are canceled first.
	justExpired = time.Hour

	dayFormat        = "20060102"
	checkViolation   = "23514"
	lockNotAvailable = "55P03"
)

// dayTables are the tables that have a partition for each day.
var dayTables = []string{"notices", "deliveries_ended"}

// dayOf returns the day of a time in µs.
func dayOf(us int64) notice.Day { return notice.DayOf(time.UnixMicro(us)) }

// partitionOf returns the name of the table's partition for the day.
func partitionOf(table string, day notice.Day) string {
	return table + "_" + day.Begin().Format(dayFormat)
}

// beginner is a pool or a connection.
type beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// withDays runs do in a transaction with the days that have partitions, the earliest first, unless another node is at the partitions. While others hold a table it gives way
// to them and runs do again, a few times.
func withDays(ctx context.Context, db beginner, do func(tx pgx.Tx, have []notice.Day) error) (err error) {
	for range 10 {
		if err = withDaysOnce(ctx, db, do); !hasState(err, lockNotAvailable) {
			break
		}
	}
	return err
}

func withDaysOnce(ctx context.Context, db beginner, do func(tx pgx.Tx, have []notice.Day) error) error {
	return again(func() error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			var free bool
			var timeout string
			if err := tx.QueryRow(ctx, queries.Get("lock-days")).Scan(&free, &timeout); err != nil || !free {
				return err
			}
			found, err := tx.Query(ctx, queries.Get("days"))
			if err != nil {
				return err
			}
			have, err := pgx.CollectRows(found, func(r pgx.CollectableRow) (notice.Day, error) {
				var name string
				if err := r.Scan(&name); err != nil {
					return 0, err
				}
				at, err := time.Parse(dayFormat, name)
				return notice.DayOf(at), err
			})
			if err != nil {
				return err
			}
			return do(tx, have)
		})
	})
}

// makeDays makes the partitions of this day and the next ones. Where rows of a day have come before its partition, they and all others of that day
// lie in the default partition.
func makeDays(ctx context.Context, db beginner, now *int64) error {
	err := withDays(ctx, db, func(tx pgx.Tx, have []notice.Day) error {
		var us int64
		if err := tx.QueryRow(ctx, queries.Get("now"), now).Scan(&us); err != nil {
			return err
		}
		today := dayOf(us)
		for day := today; day <= today+daysMade; day++ {
			if slices.Contains(have, day) || day.IDs() == (day+1).IDs() { // or no id can name the day
				continue
			}
			err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return makeDay(ctx, tx, day) })
			if err != nil && !hasState(err, checkViolation) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return failed("make partitions", err)
	}
	return nil
}

func makeDay(ctx context.Context, tx pgx.Tx, day notice.Day) error {
	for _, table := range dayTables {
		err := run(ctx, tx, fmt.Sprintf("CREATE TABLE %s PARTITION OF %s FOR VALUES FROM ('%s') TO ('%s') WITH (autovacuum_vacuum_insert_scale_factor = 0.05)",
			partitionOf(table, day), table, day.IDs(), (day+1).IDs()))
		if err != nil {
			return err
		}
	}
	return nil
}

// run runs a statement that names partitions.
func run(ctx context.Context, tx pgx.Tx, statement string) error {
	if _, err := tx.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// DropDays implements store.Pruner.
func (e engine) DropDays(ctx context.Context, before time.Time) error {
	if err := makeDays(ctx, e.pool, e.NowArg()); err != nil {
		return err
	}
	var have []notice.Day
	err := withDays(ctx, e.pool, func(_ pgx.Tx, days []notice.Day) error {
		have = days
		return nil
	})
	if err != nil {
		return failed("list partitions", err)
	}
	keep := notice.DayOf(before) - keptBeyond
	for _, day := range have {
		if day >= keep {
			break
		}
		if err := e.dropDay(ctx, day, before); err != nil {
			return failed("drop partitions of "+day.Begin().Format(time.DateOnly), err)
		}
	}
	return e.pruneMarks(ctx, keep)
}

// dropDay drops the partitions of a day. What stays moves to the default partitions.
func (e engine) dropDay(ctx context.Context, day notice.Day, before time.Time) error {
	// No finding comes to name a notice of the day later, unless another one names it now.
	named, err := query(ctx, e.Ledger, "named-notices", pgx.RowTo[string], day.IDs(), (day + 1).IDs())
	if err != nil {
		return err
	}
	if err := e.prunePushes(ctx, day); err != nil {
		return err
	}
	return withDays(ctx, e.pool, func(tx pgx.Tx, have []notice.Day) error {
		if !slices.Contains(have, day) { // another node was faster
			return nil
		}
		for _, table := range dayTables { // whoever reads or writes them waits from here on
			if err := run(ctx, tx, fmt.Sprintf("ALTER TABLE %s DETACH PARTITION %s", table, partitionOf(table, day))); err != nil {
				return err
			}
		}
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
		for _, table := range dayTables {
			if err := run(ctx, tx, "DROP TABLE "+partitionOf(table, day)); err != nil {
				return err
			}
		}
		return nil
	})
}

// leaving returns the query by name, for the partitions of the day.
func leaving(name string, day notice.Day) string {
	return strings.ReplaceAll(queries.Get(name), "_leaving", partitionOf("", day))
}

// prunePushes removes what operators could have tried again of a day's deliveries to push channels.
func (e engine) prunePushes(ctx context.Context, day notice.Day) error {
	for after := new(int64); after != nil; {
		found, err := e.pool.Query(ctx, leaving("prune-day-pushes", day), pgx.QueryExecModeExec, *after, pruneBatch, e.NowArg(), justExpired.Microseconds())
		if err != nil {
			return err
		}
		if after, err = pgx.CollectExactlyOneRow(found, pgx.RowTo[*int64]); err != nil && !hasState(err, undefinedTable) { // another node was faster
			return err
		}
	}
	return nil
}

// pruneMarks removes the marks of notices that went with partitions of days before the one that is kept.
func (e engine) pruneMarks(ctx context.Context, keep notice.Day) error {
	after := notice.FirstDay.IDs()
	for next := &after; next != nil; {
		if _, err := e.One(ctx, "prune-day-marks", []any{*next, keep.IDs(), pruneBatch}, &next); err != nil {
			return err
		}
	}
	return nil
}
