package queue

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"tallyman/internal/item"
	"tallyman/sinks/recovery"
)

const (
	restorePage = 1000 // items in one call of a script
	// restoreJump times the number of the epoch is added to the attempt and the moves of each restored item. The ledger
	// may not know the last attempts and moves before the loss. Because of the jump, none of them has the number of an
	// attempt or move after the loss. The jump must differ from epoch to epoch: after two losses in a row the same jump
	// would give the same numbers twice.
	restoreJump = 1000
	restoreNote = "written back from the ledger"
)

// rebuilder writes a queue back into Redis from the ledger: the whole queue for its keeper, or only missing items.
type rebuilder struct{ *Queue }

// Missing implements recovery.Contents. Both lines must be in the epoch, and no outbox may end before the position that
// the ledger has. The sweeper finds items that are missing.
func (q rebuilder) Missing(ctx context.Context, epoch string) (string, error) {
	for _, l := range q.lines {
		// Ask the ledger before Redis. Other nodes may be at work, and the outbox never ends before a position that the
		// ledger had earlier.
		applied := int64(0)
		if l.o.Ledger != nil {
			var err error
			if applied, err = l.o.Ledger.AppliedMoves(ctx, l.name, epoch); err != nil {
				return "", fmt.Errorf("ledger: %w", err)
			}
		}
		meta, err := l.o.Client.HMGet(ctx, l.keys.meta(), "epoch", "out", "layout", "drained").Result()
		if err != nil {
			return "", fmt.Errorf("redis: %w", err)
		}
		if found, _ := meta[0].(string); found != epoch {
			return fmt.Sprintf("queue %s is at epoch %q", l.name, found), nil
		}
		if found, _ := meta[2].(string); found != strconv.Itoa(layout) {
			return fmt.Sprintf("queue %s has keys of another version of this program", l.name), nil
		}
		if out, _ := meta[1].(string); !reaches(out, applied) {
			return fmt.Sprintf("the outbox of queue %s ends before the position that the ledger has", l.name), nil
		}
		if drained, _ := meta[3].(string); l.o.Ledger != nil && drained != "" && reaches(drained, applied+1) {
			// other nodes may have drained in between
			if applied, err = l.o.Ledger.AppliedMoves(ctx, l.name, epoch); err != nil {
				return "", fmt.Errorf("ledger: %w", err)
			}
			if reaches(drained, applied+1) {
				return fmt.Sprintf("the ledger has lost moves of queue %s", l.name), nil
			}
		}
	}
	return "", nil
}

// reaches tells whether count is the text of a number that is at least n.
func reaches(count string, n int64) bool {
	got, err := strconv.ParseInt(count, 10, 64)
	return err == nil && got >= n
}

// Rebuild implements recovery.Contents: it empties both lines and fills them from the ledger.
func (q rebuilder) Rebuild(ctx context.Context, epoch string) (int, error) {
	total := 0
	for _, l := range q.lines {
		n, err := q.rebuild(ctx, l, epoch)
		total += n
		if err != nil {
			return total, fmt.Errorf("queue %s: %w", l.name, err)
		}
	}
	return total, nil
}

// rebuild empties a line and writes back its pause, the dedupe keys that ended items still hold, and the unfinished
// items in the order of their pushes.
func (q rebuilder) rebuild(ctx context.Context, l *queueLine, epoch string) (int, error) {
	if err := q.life.begin.Run(ctx, l.o.Client, slices.Concat(l.all, l.keys.formerly()), epoch, layout).Err(); err != nil {
		return 0, recovery.Known(err)
	}
	if l.o.Ledger == nil {
		return 0, nil
	}
	// Read the pause only after the new epoch has begun. Then a concurrent change of the pause cannot reach the old epoch
	// alone and be lost.
	pause, err := l.o.Ledger.QueuePause(ctx, l.name)
	if err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	if _, err := l.run(ctx, q.reads.pause, l.all, append([]any{epoch, l.now(), l.keys.hints(), l.hint()}, pauseArgs(pause)...)...); err != nil {
		return 0, err
	}
	if err := q.holdKeys(ctx, l, epoch); err != nil {
		return 0, err
	}
	return q.restoreAll(ctx, l, epoch)
}

// holdKeys writes back the dedupe keys of ended items whose windows are still open.
func (q rebuilder) holdKeys(ctx context.Context, l *queueLine, epoch string) error {
	for after := int64(0); ; {
		held, err := l.o.Ledger.HeldKeys(ctx, l.name, l.time(), after, restorePage)
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		if len(held) == 0 {
			return nil
		}
		args := make([]any, 0, 1+3*len(held))
		args = append(args, epoch)
		for _, h := range held {
			args = append(args, h.Bucket, fmt.Sprintf("%d %s", toMicro(h.Until), h.ID), toMicro(h.Until.Add(keepWindow)))
		}
		keys := []string{l.keys.meta(), l.keys.dedupe(), l.keys.windows()}
		if err := q.life.hold.Run(ctx, l.o.Client, keys, args...).Err(); err != nil {
			return recovery.Known(err)
		}
		after = held[len(held)-1].Seq
	}
}

// restoreAll writes the unfinished items back. The next pages are read from the ledger while Redis takes the page
// before.
func (q rebuilder) restoreAll(ctx context.Context, l *queueLine, epoch string) (int, error) {
	pages := make(chan []item.Record, 2)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(pages)
		for after := int64(0); ; {
			page, err := l.o.Ledger.UnfinishedItems(ctx, l.name, after, restorePage)
			if err != nil {
				return fmt.Errorf("ledger: %w", err)
			}
			if len(page) == 0 {
				return nil
			}
			after = page[len(page)-1].Seq
			select {
			case pages <- page:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	})
	count := 0
	group.Go(func() error {
		var p placer
		for page := range pages {
			n, err := q.restore(ctx, l, epoch, tokenRebuild, page, &p)
			count += n
			if err != nil {
				return err
			}
		}
		return nil
	})
	err := group.Wait()
	return count, err
}

// restore puts items into Redis as the ledger has them, and returns how many were missing and are in now.
func (q rebuilder) restore(ctx context.Context, l *queueLine, epoch, token string, records []item.Record, p *placer) (int, error) {
	answers, err := q.putBack(ctx, l, epoch, token, records, p)
	count := 0
	for _, answer := range answers {
		if answer == enqueuedNew {
			count++
		}
	}
	return count, err
}

// putBack puts items into Redis as the ledger has them. Leases have ended; everything else keeps its state. The answers
// are those of enqueue.lua. If another item holds the dedupe key of an item, the push of that item was never answered,
// so the item is refused.
func (q rebuilder) putBack(ctx context.Context, l *queueLine, epoch, token string, records []item.Record, p *placer) ([]string, error) {
	ended := map[int64]item.Move{}
	for i := range records {
		if m, ok := restored(&records[i], epoch); ok {
			ended[m.Seq] = m
		}
	}
	answers, err := l.enqueue(ctx, epoch, token, records, p)
	if err != nil {
		return nil, err
	}
	if err := l.refuse(ctx, records, answers); err != nil {
		return answers, err
	}
	var told []item.Move
	for i, answer := range answers {
		if m, ok := ended[records[i].Seq]; ok && answer == enqueuedNew {
			told = append(told, m)
		}
	}
	return answers, q.tell(ctx, l, epoch, told)
}

// restored changes a record into the item that comes back. If the change ends a lease, restored returns the move, and
// true.
func restored(r *item.Record, epoch string) (item.Move, bool) {
	jump := recovery.EpochNumber(epoch) * restoreJump
	r.Attempt += int(jump)
	r.Moves += jump
	if r.State != item.Leased {
		return item.Move{}, false
	}
	r.State, r.Due = item.Ready, time.Time{}
	m := item.Move{
		Seq: r.Seq, N: r.Moves, From: item.Leased, To: item.Ready, Attempt: r.Attempt, Failures: r.Failures, Suspends: r.Suspends,
		Assignee: r.Assignee, Note: restoreNote,
	}
	if news := r.News; news != nil {
		r.Priority, r.Order, r.News = news.Priority, news.Order, nil
		if news.Payload != nil {
			r.Payload = news.Payload
		}
		m.Revision = &item.Revision{Priority: news.Priority, Order: news.Order, Source: news.Source}
	}
	return m, true
}

// tell appends to the outbox the moves that a rebuild or a repair has made.
func (q rebuilder) tell(ctx context.Context, l *queueLine, epoch string, moves []item.Move) error {
	if len(moves) == 0 {
		return nil
	}
	head := fmt.Sprintf("%d %s", toMicro(l.time()), orDash(l.node()))
	err := q.life.tell.Run(ctx, l.o.Client, []string{l.keys.meta(), l.keys.outbox()}, epoch, head, len(moves), moveLines(moves)).Err()
	return recovery.Known(err)
}
