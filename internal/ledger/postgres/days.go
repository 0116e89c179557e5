package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/notice"
)

// Tables that grow with time have a partition for each day. Old partitions are dropped as a whole;
// docs/adr/ledger-partitions.md.

const (
	daysMade = 7 // Partitions are made this many days ahead.
	// keptBeyond is how many whole days a partition is kept longer than the retention. The id of a notice names the day
	// of its episode. Most notices are made on that day or on the next day. When a partition is dropped, notices that
	// were made later are copied to the default partition.
	keptBeyond = 2
	// itemsOfDay is how many numbers of items belong to one day. Further items of a day get numbers of the next day.
	itemsOfDay = 100_000_000

	dayFormat        = "20060102"
	checkViolation   = "23514"
	lockNotAvailable = "55P03"
)

// dayTables are tables whose partitions for a day are made and dropped together.
type dayTables struct {
	names []string
	// first returns the lowest value of the day in the column that partitions the tables. If the next day has the
	// same value, the day has no partition.
	first func(notice.Day) string
	// staying returns a function that copies the rows of the day that must stay to the default partitions. The
	// function runs when nobody else can write to the day's partitions. nil = no rows stay.
	staying func(e engine, ctx context.Context, day notice.Day, before time.Time) (func(pgx.Tx) error, error)
}

var (
	noticeDays = &dayTables{[]string{"notices", "deliveries_ended"}, notice.Day.IDs, engine.stayingNotices}
	runDays    = &dayTables{[]string{"past_firings"}, func(d notice.Day) string { return strconv.FormatInt(d.Begin().UnixMicro(), 10) }, nil}
	itemDays   = &dayTables{[]string{"item_moves"}, func(d notice.Day) string { return strconv.FormatInt(firstItem(d), 10) }, engine.stayingMoves}
)

// firstItem returns the lowest number of the items of a day.
func firstItem(d notice.Day) int64 { return max(int64(d-notice.FirstDay), 0) * itemsOfDay }

// stayingMoves keeps the moves of the items that still exist. Items that are old enough were removed before.
func (engine) stayingMoves(ctx context.Context, day notice.Day, _ time.Time) (func(pgx.Tx) error, error) {
	return func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, leaving("keep-moves", day), pgx.QueryExecModeExec, firstItem(day), firstItem(day+1))
		return err
	}, nil
}

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

// with runs do in a transaction. have lists the days that have partitions, the earliest first. If another node is
// working on the partitions, do does not run. If another transaction holds a lock on a table, with gives up and starts
// again, at most ten times. So with never blocks other work for long.
func (d *dayTables) with(ctx context.Context, db beginner, do func(tx pgx.Tx, have []notice.Day) error) (err error) {
	for range 10 {
		if err = d.withOnce(ctx, db, do); !hasState(err, lockNotAvailable) {
			break
		}
	}
	return err
}

func (d *dayTables) withOnce(ctx context.Context, db beginner, do func(tx pgx.Tx, have []notice.Day) error) error {
	return again(func() error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			var free bool
			var timeout string
			if err := tx.QueryRow(ctx, queries.Get("lock-days")).Scan(&free, &timeout); err != nil || !free {
				return err
			}
			found, err := tx.Query(ctx, queries.Get("days"), d.names[0])
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

// makeDays makes the partitions of today and of the next days.
func makeDays(ctx context.Context, db beginner, now *int64) error {
	for _, d := range []*dayTables{noticeDays, runDays, itemDays} {
		err := d.with(ctx, db, func(tx pgx.Tx, have []notice.Day) error {
			var us int64
			if err := tx.QueryRow(ctx, queries.Get("now"), now).Scan(&us); err != nil {
				return err
			}
			today := dayOf(us)
			if err := d.make(ctx, tx, today, have); err != nil || d != itemDays {
				return err
			}
			_, err := tx.Exec(ctx, queries.Get("begin-item-seqs"), max(firstItem(today), 1))
			return err
		})
		if err != nil {
			return failed("make partitions of "+d.names[0], err)
		}
	}
	return nil
}

// make makes the partitions of today and of the next days. If rows of a day came before its partition, they lie in
// the default partition. PostgreSQL then refuses the partition, and the other rows of that day go to the default
// partition as well.
func (d *dayTables) make(ctx context.Context, tx pgx.Tx, today notice.Day, have []notice.Day) error {
	for day := today; day <= today+daysMade; day++ {
		from, to := d.first(day), d.first(day+1)
		if slices.Contains(have, day) || from == to {
			continue
		}
		// A savepoint: a partition that PostgreSQL refuses must not end the whole transaction.
		err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
			for _, table := range d.names {
				if err := changeDay(ctx, tx, "make", table, day, from, to); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil && !hasState(err, checkViolation) {
			return err
		}
	}
	return nil
}

// changeDay makes, detaches or drops the partition of a day. The server does so as the owner of the tables, who may be
// another role than the node's.
func changeDay(ctx context.Context, tx pgx.Tx, action, table string, day notice.Day, low, high string) error {
	if _, err := tx.Exec(ctx, queries.Get("change-day"), action, table, day.Begin().Format(dayFormat), low, high); err != nil {
		return fmt.Errorf("%s %s: %w", action, partitionOf(table, day), err)
	}
	return nil
}

// DropDays implements store.Pruner.
func (e engine) DropDays(ctx context.Context, before time.Time) error {
	if err := makeDays(ctx, e.pool, e.NowArg()); err != nil {
		return err
	}
	for _, d := range []*dayTables{noticeDays, runDays, itemDays} {
		var have []notice.Day
		err := d.with(ctx, e.pool, func(_ pgx.Tx, days []notice.Day) error {
			have = days
			return nil
		})
		if err != nil {
			return failed("list partitions of "+d.names[0], err)
		}
		for _, day := range have {
			if day >= firstKept(before) {
				break
			}
			if err := d.drop(ctx, e, day, before); err != nil {
				return failed("drop "+partitionOf(d.names[0], day), err)
			}
		}
	}
	return e.pruneMarks(ctx, firstKept(before))
}

// firstKept returns the first day whose partitions are kept.
func firstKept(before time.Time) notice.Day { return notice.DayOf(before) - keptBeyond }

// drop drops the partitions of a day. Rows that must stay move to the default partitions.
func (d *dayTables) drop(ctx context.Context, e engine, day notice.Day, before time.Time) error {
	keep := func(pgx.Tx) error { return nil }
	if d.staying != nil {
		var err error
		if keep, err = d.staying(e, ctx, day, before); err != nil {
			return err
		}
	}
	return d.with(ctx, e.pool, func(tx pgx.Tx, have []notice.Day) error {
		if !slices.Contains(have, day) { // another node has dropped the day
			return nil
		}
		for _, table := range d.names { // From here on, readers and writers of the tables wait.
			if err := changeDay(ctx, tx, "detach", table, day, "", ""); err != nil {
				return err
			}
		}
		if err := keep(tx); err != nil {
			return err
		}
		for _, table := range d.names {
			if err := changeDay(ctx, tx, "drop", table, day, "", ""); err != nil {
				return err
			}
		}
		return nil
	})
}

// leaving returns the query by name, with _leaving replaced by the suffix of the day's partitions.
func leaving(name string, day notice.Day) string {
	return strings.ReplaceAll(queries.Get(name), "_leaving", partitionOf("", day))
}
