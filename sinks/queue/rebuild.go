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
	// restoreJump times the number of the epoch is added to the attempt and the moves of what is written back, so that none
	// from before the loss, of which the ledger may not know the last, is taken for one from after it. (The same jump every
	// time would not do: what the ledger did not hear of before two losses would come twice.)
	restoreJump = 1000
	restoreNote = "written back from the ledger"
)

// rebuilder writes a queue back into Redis from the ledger: all of it for its keeper, or the items that are missing.
type rebuilder struct{ *Queue }

// Missing implements recovery.Contents: both lines must be in the epoch, and no outbox may be behind what the ledger has of it.
// An item that is missing is found by the sweep.
func (q rebuilder) Missing(ctx context.Context, epoch string) (string, error) {
	for _, l := range q.lines {
		applied := int64(0) // asked first: others may be at work, and the outbox is never behind what the ledger had before
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
			return fmt.Sprintf("the outbox of queue %s has gone back", l.name), nil
		}
		if drained, _ := meta[3].(string); l.o.Ledger != nil && drained != "" && reaches(drained, applied+1) {
			if applied, err = l.o.Ledger.AppliedMoves(ctx, l.name, epoch); err != nil { // others may have been at work
				return "", fmt.Errorf("ledger: %w", err)
			}
			if reaches(drained, applied+1) {
				return fmt.Sprintf("the ledger has lost moves of queue %s", l.name), nil
			}
		}
	}
	return "", nil
}

// reaches tells whether the count, a text, is one and not below n.
func reaches(count string, n int64) bool {
	got, err := strconv.ParseInt(count, 10, 64)
	return err == nil && got >= n
}

// Rebuild implements recovery.Contents: both lines begin anew, with what the ledger knows of them.
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

// rebuild empties a line and writes back its pause, the dedupe keys that ended items still hold, and the unfinished items in the
// order of their pushes.
func (q rebuilder) rebuild(ctx context.Context, l *queueLine, epoch string) (int, error) {
	if err := q.life.begin.Run(ctx, l.o.Client, slices.Concat(l.all, l.keys.formerly()), epoch, layout).Err(); err != nil {
		return 0, recovery.Known(err)
	}
	if l.o.Ledger == nil {
		return 0, nil
	}
	// Asked when the old epoch cannot be told of a pause any more, so that none is told to that one alone.
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

// holdKeys writes back the dedupe keys of ended items whose windows are open.
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

// restoreAll writes the unfinished items back. The ledger is read ahead while Redis is written.
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

// restore puts items into Redis as the ledger has them, and returns how many are in now.
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

// putBack puts items into Redis as the ledger has them: leases have ended, everything else stands as it stood. It answers as
// enqueue.lua does. One whose dedupe key is held by another was never answered as pushed, and is refused.
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

// restored makes of an item as the ledger has it one as it comes back, and returns the move if that is one.
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

// tell records moves that no script of the queue has made.
func (q rebuilder) tell(ctx context.Context, l *queueLine, epoch string, moves []item.Move) error {
	if len(moves) == 0 {
		return nil
	}
	head := fmt.Sprintf("%d %s", toMicro(l.time()), orDash(l.node()))
	err := q.life.tell.Run(ctx, l.o.Client, []string{l.keys.meta(), l.keys.outbox()}, epoch, head, len(moves), moveLines(moves)).Err()
	return recovery.Known(err)
}
