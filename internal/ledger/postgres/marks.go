package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
)

// Mark implements ledger.Marks.
func (l *Ledger) Mark(ctx context.Context, m ledger.Mark) error {
	unless, reason := codec.Needless(&m)
	var recipient bool
	var needless []int64
	begin := func(b *pgx.Batch) {
		needless = nil
		b.Queue(queries.Get("by-key"))
		b.Queue(queries.Get("is-recipient"), m.Notice, m.Warehouse, m.As).QueryRow(func(r pgx.Row) error { return r.Scan(&recipient) })
		b.Queue(queries.Get("needless-pushes"), m.Notice, unless, m.As).Query(collect(&needless))
	}
	return l.inShortTx(ctx, "mark", begin, func(_ context.Context, _ *pgx.Conn, last *pgx.Batch) error {
		if !recipient {
			return fmt.Errorf("%w: notice %q in an inbox of %s in warehouse %s", ledger.ErrNotFound, m.Notice, strings.Join(m.As, ", "), m.Warehouse)
		}
		last.Queue(queries.Get("add-mark"), codec.MarkArgs(&m)...)
		l.cancelNeedless(last, needless, reason)
		return nil
	})
}

// CancelRead implements store.Engine.
func (e engine) CancelRead(ctx context.Context, r *ledger.ReadAll, after int64, limit int) ([]int64, error) {
	var needless []int64
	begin := func(b *pgx.Batch) {
		needless = nil
		b.Queue(queries.Get("by-key"))
		b.Queue(queries.Get("pushes-until-read"), r.Warehouse, r.Inboxes, r.UpTo, after, limit, r.User).Query(collect(&needless))
	}
	err := e.inShortTx(ctx, "read-all", begin, func(_ context.Context, _ *pgx.Conn, last *pgx.Batch) error {
		e.cancelNeedless(last, needless, codec.ReadBy(r.User))
		return nil
	})
	return needless, err
}

// cancelNeedless cancels deliveries, and releases the deliveries behind them.
func (l *Ledger) cancelNeedless(b *pgx.Batch, needless []int64, reason string) {
	if len(needless) > 0 {
		b.Queue(queries.Get("lock-pushes"), needless, needless)
		b.Queue(queries.Get("cancel-deliveries"), needless, reason)
		l.releaseNext(b, needless, laneEnds{})
	}
}

// cancelReadAlready cancels needless deliveries that were recorded just now, after a read-all that would have canceled
// them. A read-all and a delivery may run at the same time: the one that looks second sees the record of the other.
func (l *Ledger) cancelReadAlready(ctx context.Context, seqs []int64, notices []string) error {
	needless := map[string][]int64{}
	var ask pgx.Batch // a batch is one transaction and one round trip
	ask.Queue(queries.Get("by-key"))
	ask.Queue(queries.Get("read-already"), seqs, codec.ClocksDiffer.Microseconds(), notices).Query(func(found pgx.Rows) error {
		var user string
		var seq int64
		_, err := pgx.ForEachRow(found, []any{&user, &seq}, func() error {
			needless[user] = append(needless[user], seq)
			return nil
		})
		return err
	})
	if err := l.pool.SendBatch(ctx, &ask).Close(); err != nil {
		return failed("read already", err)
	}
	if len(needless) == 0 {
		return nil
	}
	begin := func(b *pgx.Batch) { b.Queue(queries.Get("by-key")) }
	return l.inShortTx(ctx, "read already", begin, func(_ context.Context, _ *pgx.Conn, last *pgx.Batch) error {
		for _, user := range slices.Sorted(maps.Keys(needless)) {
			l.cancelNeedless(last, needless[user], codec.ReadBy(user))
		}
		return nil
	})
}
