package inbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"tallyman/sinks/inbox/page"
)

// Version returns what Poll would give as the page's version, for one small read of Redis that concurrent callers
// share. Its errors are Poll's.
func (in *Inbox) Version(ctx context.Context, q page.Query) (string, error) {
	r, err := newReader(q)
	if err != nil {
		return "", err
	}
	var v string
	err = in.patiently(ctx, func(ctx context.Context, g *generation) error {
		c, err := in.clockOf(ctx, g, r)
		if err == nil {
			v = version(g.epoch, c.clock, c.sweeps, r.hash)
		}
		return err
	})
	return v, err
}

// version names a state of a warehouse for one query: whatever can change the answer changes it.
func version(epoch string, clock int64, sweeps string, hash page.Hash) string {
	return epoch + "." + strconv.FormatInt(clock, 36) + "." + sweeps + "." + hash.String()
}

// splitVersion returns the epoch and the clock of a version.
func splitVersion(v string) (epoch string, clock int64, err error) {
	parts := strings.Split(v, ".")
	if len(parts) != 4 {
		return "", 0, fmt.Errorf("inbox: %q is no version", v)
	}
	clock, err = strconv.ParseInt(parts[1], 36, 64)
	return parts[0], clock, err
}

// clockState is the clock of a warehouse as Redis has it.
type clockState struct {
	epoch  string
	clock  int64
	sweeps string
}

// clockOf reads the clock for a reader, and notices when something was lost.
func (in *Inbox) clockOf(ctx context.Context, g *generation, r *reader) (clockState, error) {
	c, err := in.clocks.read(ctx, r.Warehouse)
	if err != nil {
		return c, err
	}
	if c.epoch != g.epoch {
		if in.virgin(g, r, c.epoch) {
			return clockState{epoch: g.epoch, sweeps: "0"}, nil
		}
		return c, in.lost(g, r.Warehouse, &epochError{found: c.epoch})
	}
	if r.cursor.Epoch == g.epoch && r.cursor.Query == r.hash && r.cursor.Score > c.clock {
		return c, in.lost(g, r.Warehouse, errAhead)
	}
	return c, nil
}

// askClock is one read of Redis.
func (in *Inbox) askClock(ctx context.Context, warehouse string) (clockState, error) {
	v, err := in.o.Client.HMGet(ctx, in.keys.clock(warehouse), "epoch", "clock", "sweeps").Result()
	if err != nil {
		return clockState{}, err
	}
	if v[0] == nil {
		return clockState{epoch: noEpoch}, nil
	}
	p := parser{reply: v}
	return clockState{epoch: p.text(0), clock: p.score(1), sweeps: p.text(2)}, p.err
}

// clockReader lets concurrent readers of a warehouse's clock share one read. A caller only shares a read that started
// after its own call began, so that it sees whatever was delivered before.
type clockReader struct {
	ask func(ctx context.Context, warehouse string) (clockState, error)

	mu      sync.Mutex
	running map[string]*clockCall
}

type clockCall struct {
	done  chan struct{}
	state clockState
	err   error
	next  *clockCall // for those who came while this one was under way
}

func newClockCall() *clockCall { return &clockCall{done: make(chan struct{})} }

func (c *clockReader) read(ctx context.Context, warehouse string) (clockState, error) {
	call := c.join(ctx, warehouse)
	select {
	case <-call.done:
		return call.state, call.err
	case <-ctx.Done():
		return clockState{}, ctx.Err()
	}
}

func (c *clockReader) join(ctx context.Context, warehouse string) *clockCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.running[warehouse]; now != nil {
		if now.next == nil {
			now.next = newClockCall()
		}
		return now.next
	}
	call := newClockCall()
	if c.running == nil {
		c.running = map[string]*clockCall{}
	}
	c.running[warehouse] = call
	go c.work(context.WithoutCancel(ctx), warehouse, call)
	return call
}

// work reads once for each call in the chain. It does not end with the caller that started it, since others share it.
func (c *clockReader) work(ctx context.Context, warehouse string, call *clockCall) {
	for call != nil {
		call.state, call.err = c.once(ctx, warehouse)
		close(call.done)
		c.mu.Lock()
		call = call.next
		if call == nil {
			delete(c.running, warehouse)
		} else {
			c.running[warehouse] = call
		}
		c.mu.Unlock()
	}
}

func (c *clockReader) once(ctx context.Context, warehouse string) (clockState, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("inbox: Redis did not answer"))
	defer cancel()
	return c.ask(ctx, warehouse)
}
