package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tallyman/internal/item"
	"tallyman/sinks/recovery"
)

// taken is the answer of drain.lua.
type taken struct {
	ours  bool          // this node drains
	out   int64         // the position of the last entry that there is
	first int64         // of the page, or of what would follow
	left  time.Duration // how long another node drains
	page  []item.Moves
	bytes int
}

// take asks for the right to drain for as long as hold says, lets go what is in the ledger, and reads entries behind after.
func (d *drainer) take(ctx context.Context, g *recovery.Generation, hold time.Duration, after int64, most int) (taken, error) {
	t, err := d.ask(ctx, g.Epoch, hold, min(d.position(), after), after, most)
	if other, ok := errors.AsType[*recovery.EpochError](err); ok {
		d.keeper.Lose(g, other)
		return taken{}, recovery.ErrLost
	}
	if err == nil && !d.keeper.Is(g) { // what was read of a server that turned out to be another one does not count
		err = recovery.ErrLost
	}
	return t, err
}

// ask is one call of drain.lua.
func (d *drainer) ask(ctx context.Context, epoch string, hold time.Duration, applied, after int64, most int) (taken, error) {
	l := d.line
	reply, err := l.run(ctx, d.scripts.drain, []string{l.keys.meta(), l.keys.outbox()}, epoch, l.o.Node,
		hold.Microseconds(), applied, after, most, drainBytes)
	if err != nil {
		return taken{}, fmt.Errorf("redis: %w", err)
	}
	return d.parse(reply)
}

func (d *drainer) parse(reply []any) (taken, error) {
	if len(reply) < 3 {
		return taken{}, fmt.Errorf("queue: drain.lua answered %d values", len(reply))
	}
	ours, ok1 := reply[0].(int64)
	out, ok2 := reply[1].(int64)
	third, ok3 := reply[2].(int64)
	if !ok1 || !ok2 || !ok3 {
		return taken{}, fmt.Errorf("queue: drain.lua answered %v", reply[:3])
	}
	if ours == 0 {
		return taken{out: out, left: time.Duration(third) * time.Microsecond}, nil
	}
	t := taken{ours: true, out: out, first: third, page: make([]item.Moves, 0, len(reply)-3)}
	for i, v := range reply[3:] {
		entry, ok := v.(string)
		if !ok {
			return taken{}, fmt.Errorf("queue: drain.lua answered a %T where an entry was due", v)
		}
		position := third + int64(i)
		moves, err := parseEntry(position, entry)
		if err != nil { // it must not hold up what follows
			d.log.Error("an entry of the outbox cannot be read; it is left out", "position", position, "error", err)
			moves = item.Moves{Position: position}
		}
		t.page = append(t.page, moves)
		t.bytes += len(entry)
	}
	return t, nil
}
