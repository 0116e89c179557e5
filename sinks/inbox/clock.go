package inbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"tallyman/sinks/inbox/page"
	"tallyman/sinks/recovery"
)

// clockState is the clock of a warehouse as Redis has it.
type clockState struct {
	epoch  string
	clock  int64
	sweeps string
}

// askClocks reads the clocks of several warehouses in one round trip.
func (in *index) askClocks(ctx context.Context, warehouses []string) ([]clockState, error) {
	replies := make([]*redis.SliceCmd, len(warehouses))
	_, err := in.o.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, w := range warehouses {
			replies[i] = p.HMGet(ctx, in.keys.clock(w), "epoch", "clock", "sweeps")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	states := make([]clockState, len(warehouses))
	for i, reply := range replies {
		v := reply.Val()
		if v[0] == nil {
			states[i] = clockState{epoch: recovery.NoEpoch}
			continue
		}
		p := parser{reply: v}
		states[i] = clockState{epoch: p.text(0), clock: p.score(1), sweeps: p.text(2)}
		if p.err != nil {
			return nil, p.err
		}
	}
	return states, nil
}

// clockReader lets concurrent callers share round trips that read clocks. Callers that come during a round trip are
// answered together by the next one. So an answer is never older than the call, and includes everything that was
// delivered before the call.
type clockReader struct {
	ask func(ctx context.Context, warehouses []string) ([]clockState, error)

	mu      sync.Mutex
	busy    bool
	waiting *clockBatch // for the next round trip; nil if no caller waits
}

// clockBatch is one round trip.
type clockBatch struct {
	warehouses []string
	at         map[string]int // warehouse → its index
	done       chan struct{}
	states     []clockState
	err        error
}

func (c *clockReader) read(ctx context.Context, warehouse string) (clockState, error) {
	batch, at := c.join(ctx, warehouse)
	select {
	case <-batch.done:
		if batch.err != nil {
			return clockState{}, batch.err
		}
		return batch.states[at], nil
	case <-ctx.Done():
		return clockState{}, ctx.Err()
	}
}

// join adds the warehouse to the next round trip, and starts the round trip if none is under way.
func (c *clockReader) join(ctx context.Context, warehouse string) (batch *clockBatch, at int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting = &clockBatch{at: map[string]int{}, done: make(chan struct{})}
	}
	batch = c.waiting
	at, known := batch.at[warehouse]
	if !known {
		at = len(batch.warehouses)
		batch.at[warehouse] = at
		batch.warehouses = append(batch.warehouses, warehouse)
	}
	if !c.busy {
		c.busy, c.waiting = true, nil
		go c.work(context.WithoutCancel(ctx), batch) // other callers share the round trip, so it must not end with this one
	}
	return batch, at
}

// work makes round trips until no caller waits.
func (c *clockReader) work(ctx context.Context, batch *clockBatch) {
	for batch != nil {
		batch.states, batch.err = c.once(ctx, batch.warehouses)
		close(batch.done)
		c.mu.Lock()
		batch, c.waiting = c.waiting, nil
		c.busy = batch != nil
		c.mu.Unlock()
	}
}

func (c *clockReader) once(ctx context.Context, warehouses []string) ([]clockState, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, recovery.CallTimeout, errors.New("inbox: Redis did not answer"))
	defer cancel()
	return c.ask(ctx, warehouses)
}

// Version returns the version that a page of Poll would have. It costs one small read of Redis, which concurrent callers
// share. The errors are those of Poll.
func (in poller) Version(ctx context.Context, q page.Query) (string, error) {
	r, err := newReader(q)
	if err != nil {
		return "", err
	}
	var v string
	err = in.keeper.Serve(ctx, func(ctx context.Context, g *recovery.Generation) error {
		c, err := in.clockOf(ctx, g, r)
		if err == nil {
			v = version(g.Epoch, c.clock, c.sweeps, r.hash)
		}
		return err
	})
	return v, err
}

// version names the state of a warehouse for one query. Everything that can change the answer changes the version.
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

// clockOf reads the clock of a reader's warehouse, and notices a loss.
func (in *index) clockOf(ctx context.Context, g *recovery.Generation, r *reader) (clockState, error) {
	c, err := in.clocks.read(ctx, r.Warehouse)
	if err != nil {
		return c, err
	}
	return in.judgeClock(g, r.Warehouse, c)
}

// judgeClock returns the clock. A warehouse that never had a notice has clock 0. Any other clock of another epoch is a
// loss.
func (in *index) judgeClock(g *recovery.Generation, warehouse string, c clockState) (clockState, error) {
	switch {
	case c.epoch == g.Epoch:
		return c, nil
	case in.virgin(g, warehouse, c.epoch):
		return clockState{epoch: g.Epoch, sweeps: "0"}, nil
	}
	return c, in.lost(g, warehouse, &recovery.EpochError{Found: c.epoch})
}
