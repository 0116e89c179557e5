package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/retry"
	"tallyman/sinks/recovery"
)

const (
	drainHold    = 2 * time.Second // how long the other nodes wait for a node that drained and died
	drainEntries = 1000            // in one transaction of the ledger
	drainBytes   = 1 << 20
	drainLast    = 3 * time.Second // for the rest of the outbox when the node stops
	drainPause   = 5 * time.Second // the longest pause between two tries
)

// drainer moves the entries of a line's outbox into the ledger, in order. One node drains at a time: the first node
// that asked, until it stops or dies. The ledger stores the position of the last entry that it has. So each entry
// counts once, even if two nodes drain at the same time by mistake.
type drainer struct {
	line    *queueLine
	scripts *lifeScripts
	keeper  *recovery.Keeper
	log     *slog.Logger

	mu      sync.Mutex
	mine    bool  // this node drains
	applied int64 // the position of the last entry in the ledger, as far as this node knows
}

func newDrainer(l *queueLine, s *lifeScripts, k *recovery.Keeper, log *slog.Logger) *drainer {
	return &drainer{line: l, scripts: s, keeper: k, log: log}
}

// run drains until the context ends. finish drains the rest.
func (d *drainer) run(ctx context.Context) {
	pauses, last := retry.New(drainEvery, drainPause), ""
	for ctx.Err() == nil {
		g, changed := d.keeper.Current()
		if g == nil {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		began := time.Now()
		err := d.drain(ctx, g)
		d.set(false, 0)
		if ctx.Err() != nil {
			break
		}
		if time.Since(began) > drainPause { // draining worked for a while, so this is a new failure
			last = ""
			pauses.Reset()
		}
		if text := err.Error(); text != last && !errors.Is(err, recovery.ErrLost) {
			d.log.Warn("Moves do not reach the ledger. They stay in the outbox, and the node tries again.", "error", err)
			last = text
		}
		select {
		case <-time.After(pauses.Next()):
		case <-ctx.Done():
		}
	}
}

// drain drains until the generation ends or something fails. The next page is read while the ledger takes the page
// before.
func (d *drainer) drain(ctx context.Context, g *recovery.Generation) error {
	pages := make(chan []item.Moves, 1)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(pages)
		return d.read(ctx, g, pages)
	})
	group.Go(func() error {
		for page := range pages {
			if err := d.apply(ctx, g, page); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

// read sends the outbox page by page to pages while this node drains.
func (d *drainer) read(ctx context.Context, g *recovery.Generation, pages chan<- []item.Moves) error {
	after, ours := int64(0), false
	for {
		if !d.keeper.Is(g) {
			return recovery.ErrLost
		}
		most := drainEntries
		if !ours {
			most = 0 // the first call only asks for the right to drain
		}
		t, err := d.take(ctx, g, drainHold, after, most)
		if err != nil {
			return err
		}
		wait := drainEvery
		switch {
		case !t.ours:
			ours = false
			d.set(false, 0)
			wait = min(max(t.left, drainEvery), drainHold)
		case !ours:
			ours, wait = true, 0
			if after, err = d.begin(ctx, g, t); err != nil {
				return err
			}
		case t.first > after+1: // another node has drained in between
			ours, wait = false, 0
		case len(t.page) > 0:
			if len(t.page) == most || t.bytes >= d.line.pageBytes() {
				wait = 0
			}
			after = t.page[len(t.page)-1].Position
			select {
			case pages <- t.page:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := d.rest(ctx, wait); err != nil {
			return err
		}
	}
}

// begin is called when this node has just got the right to drain. begin asks the ledger for its position.
func (d *drainer) begin(ctx context.Context, g *recovery.Generation, t drainAnswer) (int64, error) {
	applied, err := d.line.o.Ledger.AppliedMoves(ctx, d.line.name, g.Epoch)
	if err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	if applied > t.out {
		d.keeper.Lose(g, errOutbox)
		return 0, recovery.ErrLost
	}
	if t.first > applied+1 {
		d.keeper.Lose(g, errBehind)
		return 0, recovery.ErrLost
	}
	d.set(true, applied)
	return applied, nil
}

// errOutbox says that Redis lost entries: the ledger has moves that the outbox does not have yet.
var errOutbox = errors.New("the outbox ends before the position that the ledger has: Redis lost moves")

// errBehind says that the ledger lost moves: Redis has already removed them from the outbox.
var errBehind = errors.New("the outbox begins after the position that the ledger has: the ledger lost moves")

// apply writes a page to the ledger.
func (d *drainer) apply(ctx context.Context, g *recovery.Generation, page []item.Moves) error {
	if err := d.keeper.Compared(ctx, g); err != nil {
		return err
	}
	err := d.line.o.Ledger.ApplyMoves(ctx, d.line.name, g.Epoch, page)
	if errors.Is(err, delivery.ErrFenced) {
		d.keeper.Lose(g, errors.New("the ledger is at another epoch"))
		return recovery.ErrLost
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	d.set(true, page[len(page)-1].Position)
	return nil
}

// rest waits, but not beyond the end of the context.
func (d *drainer) rest(ctx context.Context, wait time.Duration) error {
	if wait == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// finish drains the rest when the node stops, if no other node drains, and gives up the right to drain.
func (d *drainer) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLast)
	defer cancel()
	g, _ := d.keeper.Current()
	if g == nil {
		return
	}
	t, err := d.take(ctx, g, drainHold, 0, 0)
	if err != nil || !t.ours {
		return // another node drains the rest, or will
	}
	after, err := d.begin(ctx, g, t)
	for err == nil && after < t.out {
		if t, err = d.take(ctx, g, drainHold, after, drainEntries); err != nil || len(t.page) == 0 {
			break
		}
		err = d.apply(ctx, g, t.page)
		after = t.page[len(t.page)-1].Position
	}
	if err == nil {
		_, err = d.take(ctx, g, 0, after, 0)
	}
	if err != nil {
		d.log.Warn("The last moves were left in the outbox. The next node that drains takes them.", "error", err)
	}
}

// set records the ledger's position, or that another node drains.
func (d *drainer) set(mine bool, applied int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mine, d.applied = mine, applied
}

// position returns the ledger's position, or 0 if another node drains.
func (d *drainer) position() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.applied
}

// drains tells whether this node drains.
func (d *drainer) drains() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mine
}

// drainAnswer is the answer of drain.lua.
type drainAnswer struct {
	ours  bool          // this node drains
	out   int64         // the position of the last entry in the outbox
	first int64         // the position of the first entry of the page, or of the next entry if the page is empty
	left  time.Duration // how long another node keeps the right to drain
	page  []item.Moves
	bytes int
}

// take asks for the right to drain for the time hold, removes from the outbox what the ledger has, and reads the
// entries behind after.
func (d *drainer) take(ctx context.Context, g *recovery.Generation, hold time.Duration, after int64, most int) (drainAnswer, error) {
	t, err := d.ask(ctx, g.Epoch, hold, min(d.position(), after), after, most)
	if other, ok := errors.AsType[*recovery.EpochError](err); ok {
		d.keeper.Lose(g, other)
		return drainAnswer{}, recovery.ErrLost
	}
	if err == nil && !d.keeper.Is(g) { // an answer from a server that was replaced does not count
		err = recovery.ErrLost
	}
	return t, err
}

// ask makes one call of drain.lua.
func (d *drainer) ask(ctx context.Context, epoch string, hold time.Duration, applied, after int64, most int) (drainAnswer, error) {
	l := d.line
	reply, err := l.run(ctx, d.scripts.drain, []string{l.keys.meta(), l.keys.outbox()}, epoch, l.life,
		hold.Microseconds(), applied, after, most, l.pageBytes())
	if err != nil {
		return drainAnswer{}, fmt.Errorf("redis: %w", err)
	}
	return d.parse(reply)
}

func (d *drainer) parse(reply []any) (drainAnswer, error) {
	if len(reply) < 3 {
		return drainAnswer{}, fmt.Errorf("queue: drain.lua answered %d values", len(reply))
	}
	ours, ok1 := reply[0].(int64)
	out, ok2 := reply[1].(int64)
	third, ok3 := reply[2].(int64)
	if !ok1 || !ok2 || !ok3 {
		return drainAnswer{}, fmt.Errorf("queue: drain.lua answered %v", reply[:3])
	}
	if ours == 0 {
		return drainAnswer{out: out, left: time.Duration(third) * time.Microsecond}, nil
	}
	t := drainAnswer{ours: true, out: out, first: third, page: make([]item.Moves, 0, len(reply)-3)}
	for i, v := range reply[3:] {
		entry, ok := v.(string)
		if !ok {
			return drainAnswer{}, fmt.Errorf("queue: drain.lua answered a %T instead of an entry", v)
		}
		position := third + int64(i)
		moves, err := parseEntry(position, entry)
		if err != nil { // a broken entry must not block the entries behind it
			d.log.Error("An entry of the outbox cannot be read. Its moves are left out.", "position", position, "error", err)
			moves = item.Moves{Position: position}
		}
		moves.Events = d.line.events()
		t.page = append(t.page, moves)
		t.bytes += len(entry)
	}
	return t, nil
}

// readOnly makes drain.lua read without the right to drain.
const readOnly = -time.Microsecond

// salvage records what the outboxes still hold of an epoch that is about to end. A Redis that was restarted or replaced
// may have kept its outboxes, and then workers need not repeat what they have done. Other nodes may drain or salvage at
// the same time: the ledger takes each entry once, and none after the epoch has ended.
func (q *Queue) salvage(ctx context.Context, epoch string) error {
	for _, d := range q.drainers {
		if err := d.salvage(ctx, epoch); err != nil {
			return fmt.Errorf("queue %s: %w", d.line.name, err)
		}
	}
	return nil
}

func (d *drainer) salvage(ctx context.Context, epoch string) error {
	l := d.line
	after, err := l.o.Ledger.AppliedMoves(ctx, l.name, epoch)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	for {
		t, err := d.ask(ctx, epoch, readOnly, 0, after, drainEntries)
		if epochIsOver(err) { // Redis holds nothing of this epoch any more
			return nil
		}
		if err != nil || len(t.page) == 0 {
			return err
		}
		if err := l.o.Ledger.ApplyMoves(ctx, l.name, epoch, t.page); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		after = t.page[len(t.page)-1].Position
	}
}
