package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"tallyman/internal/item"
	"tallyman/sinks/recovery"
)

const (
	sweepEvery = time.Second
	// sweepGrace is how long an unfinished item may be missing in Redis before the sweeper puts it there. sweepGrace
	// must be longer than a push takes between the ledger and Redis.
	sweepGrace = 2 * callTimeout
)

// sweeper finds items that the ledger has and Redis does not. Either the push died after its write to the ledger and
// before its write to Redis, or Redis lost the items but kept its epoch. The node that drains a line also sweeps the
// line, because that node knows the ledger's position.
type sweeper struct {
	q       *Queue
	line    *queueLine
	drainer *drainer
	log     *slog.Logger
	every   time.Duration
	grace   time.Duration

	after   int64               // the next page begins behind this number
	missing map[int64]time.Time // by number: since when the item is missing
}

func newSweeper(q *Queue, l *queueLine, d *drainer, log *slog.Logger) *sweeper {
	return &sweeper{q: q, line: l, drainer: d, log: log, every: sweepEvery, grace: sweepGrace, missing: map[int64]time.Time{}}
}

// run sweeps one page per tick until the context ends.
func (s *sweeper) run(ctx context.Context) {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		g, _ := s.q.keeper.Current()
		if g == nil || !s.drainer.drains() {
			clear(s.missing)
			continue
		}
		if err := s.sweep(ctx, g); err != nil && ctx.Err() == nil && !errors.Is(err, recovery.ErrLost) {
			s.log.Warn("The queue was not compared with the ledger. The next round tries again.", "error", err)
		}
	}
}

// sweep compares the next page of unfinished items with Redis. If an item has been missing for too long, sweep takes
// the page of that item instead.
func (s *sweeper) sweep(ctx context.Context, g *recovery.Generation) error {
	first := s.after
	late := s.late()
	if late > 0 {
		first = late - 1
	}
	page, err := s.line.o.Ledger.UnfinishedItems(ctx, s.line.name, first, restorePage)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	last := int64(0) // 0 means that this page is the last
	if len(page) == restorePage {
		last = page[len(page)-1].Seq
	}
	if late == 0 {
		s.after = last
	}
	absent, err := rebuilder{s.q}.absent(ctx, s.line, g.Epoch, page)
	if err != nil {
		return s.q.lost(g, err)
	}
	s.watch(absent, first, last)
	if late == 0 {
		return nil
	}
	return s.repair(ctx, g, slices.DeleteFunc(absent, func(r item.Record) bool { return time.Since(s.missing[r.Seq]) < s.grace }))
}

// late returns the lowest number of an item that has been missing for too long, or 0.
func (s *sweeper) late() int64 {
	lowest := int64(0)
	for seq, since := range s.missing {
		if time.Since(since) >= s.grace && (lowest == 0 || seq < lowest) {
			lowest = seq
		}
	}
	return lowest
}

// watch remembers which items between first and last are missing, and forgets those that are not missing any more. Last
// 0 means no end.
func (s *sweeper) watch(absent []item.Record, first, last int64) {
	still := make(map[int64]bool, len(absent))
	for i := range absent {
		seq := absent[i].Seq
		still[seq] = true
		if _, known := s.missing[seq]; !known {
			s.missing[seq] = time.Now()
		}
	}
	for seq := range s.missing {
		if seq > first && (last == 0 || seq <= last) && !still[seq] {
			delete(s.missing, seq)
		}
	}
}

// absent returns the items of the page that Redis does not have.
func (q rebuilder) absent(ctx context.Context, l *queueLine, epoch string, page []item.Record) ([]item.Record, error) {
	if len(page) == 0 {
		return nil, nil
	}
	args := make([]any, 0, 1+len(page))
	args = append(args, epoch)
	for i := range page {
		args = append(args, page[i].ID)
	}
	reply, err := l.run(ctx, q.life.absent, []string{l.keys.meta(), l.keys.items()}, args...)
	if err != nil {
		return nil, err
	}
	p := replyReader{reply: reply}
	out := make([]item.Record, 0, len(reply))
	for range reply {
		place := p.number()
		if place < 1 || place > int64(len(page)) {
			return nil, errAnswer
		}
		out = append(out, page[place-1])
	}
	return out, p.err
}

// repair puts items that have been missing for too long into Redis, in the three steps of repair.go.
func (s *sweeper) repair(ctx context.Context, g *recovery.Generation, late []item.Record) error {
	if len(late) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	l := s.line
	position, token, missing, err := l.missing(ctx, g.Epoch, late)
	if err != nil {
		return s.q.lost(g, err)
	}
	if len(missing) == 0 {
		return nil
	}
	if err := l.awaitApplied(ctx, g.Epoch, position); err != nil {
		return err
	}
	wanted := make(map[int64]bool, len(missing))
	for _, place := range missing {
		wanted[late[place].Seq] = true
	}
	page, err := l.o.Ledger.UnfinishedItems(ctx, l.name, late[missing[0]].Seq-1, restorePage)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	page = slices.DeleteFunc(page, func(r item.Record) bool { return !wanted[r.Seq] })
	count, err := rebuilder{s.q}.restore(ctx, l, g.Epoch, token, page, &placer{})
	if errors.Is(err, errToken) {
		return nil // a newer repair has begun; the next round looks again
	}
	if err != nil {
		return s.q.lost(g, err)
	}
	if count > 0 {
		s.log.Warn("Items that were missing in Redis were put back from the ledger.", "count", count, "first", page[0].ID)
	}
	return nil
}

const promoteEvery = time.Second

// promote ends leases that are over and makes due items ready, at most a second late, until the context ends. Steps do
// the same, and sooner. Without promote, operators would see leases and waits that are long over while no worker asks.
func (q *Queue) promote(ctx context.Context, l *queueLine) {
	tick := time.NewTicker(promoteEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		g, _ := q.keeper.Current()
		if g == nil {
			continue
		}
		if err := q.lost(g, l.promoteOnce(ctx, g.Epoch)); err != nil && ctx.Err() == nil {
			l.log.Debug("Due items were not made ready. The next step does it.", "error", err)
		}
	}
}

// promoteOnce is a step without requests. promoteOnce only ends leases and makes due items ready.
func (l *queueLine) promoteOnce(ctx context.Context, epoch string) error {
	settings := l.settings.now()
	_, err := l.run(ctx, l.scripts.step, l.all, epoch, l.now(), l.keys.hints(), l.hint(), l.node(), settings.MaxAttempts, settings.steps,
		maxBacklog, 0, 0, "")
	return err
}
