package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/store"
)

// MarkSent implements delivery.Lanes.
func (l *Ledger) MarkSent(ctx context.Context, node string, receipts []delivery.Receipt, made delivery.Attempt) error {
	seqs := make([]int64, len(receipts))
	scores := make([]int64, len(receipts))
	epochs := make([]string, len(receipts))
	for i, r := range receipts {
		seqs[i], scores[i], epochs[i] = r.Seq, r.Score, r.Epoch
	}
	ago, attempt := codec.Attempt(&made)
	var notices []string
	err := again(func() (err error) {
		notices, err = query(ctx, l, "mark-sent", pgx.RowTo[string], seqs, scores, epochs, l.NowArg(), node, ago, attempt)
		return err
	})
	if err != nil {
		return err
	}
	all := len(notices) == len(receipts)
	if !all { // Some receipts may have been recorded by an earlier call whose answer was lost.
		if notices, err = query(ctx, l, "notices-of", pgx.RowTo[string], seqs); err != nil {
			return err
		}
	}
	if err := l.cancelReadAlready(ctx, seqs, notices); err != nil || all {
		return err
	}
	var stale int64
	if err := l.pool.QueryRow(ctx, queries.Get("still-pending"), seqs).Scan(&stale); err != nil {
		return failed("mark sent", err)
	}
	if stale > 0 {
		return fmt.Errorf("%d receipts belong to another epoch, or to a lane that the node does not hold: %w", stale, ledger.ErrFenced)
	}
	return nil
}

// CancelDeliveries implements ledger.DeliveryOperations.
func (l *Ledger) CancelDeliveries(ctx context.Context, who ledger.Author, seqs []int64, reason string) (changed []int64, err error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	reason = codec.Text(reason)
	begin := func(b *pgx.Batch) {
		changed = nil
		b.Queue(queries.Get("lock-audit"))
		beginCancel(b, seqs, reason, &changed)
	}
	err = l.changeShortly(ctx, "cancel deliveries", who, begin, func(last *pgx.Batch) *ledger.Change {
		l.releaseNext(last, seqs, laneEnds{})
		slices.Sort(changed)
		return record.DeliveriesCanceled(changed, reason)
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// beginCancel adds the statements that cancel deliveries. releaseNext must follow.
func beginCancel(b *pgx.Batch, seqs []int64, reason string, changed *[]int64) {
	b.Queue(queries.Get("by-key"))
	b.Queue(queries.Get("lock-pushes"), seqs, seqs)
	b.Queue(queries.Get("cancel-deliveries"), seqs, reason).Query(collect(changed))
}

// changeShortly is Store.change with few round trips. begin works as in inShortTx and must queue lock-audit first. do
// adds the remaining statements to last and returns the record of the change.
func (l *Ledger) changeShortly(ctx context.Context, what string, who ledger.Author, begin func(*pgx.Batch), do func(last *pgx.Batch) *ledger.Change) error {
	return l.Recorder.Run(func(write store.Record) error {
		return l.inShortTx(ctx, what, begin, func(ctx context.Context, db *pgx.Conn, last *pgx.Batch) error {
			return write(ctx, executor{db}, do(last).SetAuthor(who))
		})
	})
}

// RetryDeliveries implements ledger.DeliveryOperations.
func (l *Ledger) RetryDeliveries(ctx context.Context, who ledger.Author, seqs []int64) (changed []int64, lanes []ledger.Lane, err error) {
	if len(seqs) == 0 {
		return nil, nil, nil
	}
	before := record.DeliveryStates{}
	clock, leases := l.NowArg(), l.LeaseArg()
	begin := func(b *pgx.Batch) {
		changed = nil
		clear(before)
		// Locks go from the audit over rules and queues to pushes. Commits and moves take theirs in the same order.
		b.Queue(queries.Get("lock-audit"))
		b.Queue(queries.Get("by-key"))
		b.Queue(queries.Get("lock-rules"), seqs)
		b.Queue(queries.Get("lock-queues"), seqs)
		b.Queue(queries.Get("lock-pushes"), seqs, seqs)
		b.Queue(queries.Get("hasten-pushes"), seqs, clock, leases).Query(collect(&changed))
		b.Queue(queries.Get("revive-deliveries"), seqs, clock).Query(func(found pgx.Rows) error {
			var seq int64
			var state int16
			_, err := pgx.ForEachRow(found, []any{&seq, &state}, func() error {
				changed, before[seq] = append(changed, seq), ledger.DeliveryState(state)
				return nil
			})
			return err
		})
	}
	err = l.changeShortly(ctx, "retry deliveries", who, begin, func(last *pgx.Batch) *ledger.Change {
		slices.Sort(changed)
		last.Queue(queries.Get("revive-pushes"), changed, clock)
		last.Queue(queries.Get("line-up"), changed, leases)
		l.releaseNext(last, changed, laneEnds{})
		last.Queue(queries.Get("lanes-of"), changed).Query(func(found pgx.Rows) error {
			var err error
			lanes, err = pgx.CollectRows(found, pgx.RowToStructByPos[ledger.Lane])
			return err
		})
		return record.DeliveriesRetried(before, changed)
	})
	if err != nil {
		return nil, nil, err
	}
	return changed, lanes, nil
}

// collect appends the numbers that a statement returns to the list.
func collect(to *[]int64) func(pgx.Rows) error {
	return func(found pgx.Rows) error {
		list, err := pgx.CollectRows(found, pgx.RowTo[int64])
		*to = append(*to, list...)
		return err
	}
}
