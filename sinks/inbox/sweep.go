package inbox

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"tallyman/sinks/index"
)

// sweepAll removes what has expired, once a second. Every node does; it is done once.
func (in *Inbox) sweepAll(ctx context.Context) {
	every(ctx, sweepEvery, func() {
		if err := in.Sweep(ctx); err != nil && ctx.Err() == nil {
			in.log.Warn("what has expired could not be removed", "error", err)
		}
	})
}

// Sweep removes what has expired in all warehouses that this node knows. Run does it once a second.
func (in *Inbox) Sweep(ctx context.Context) error {
	g, _ := in.keeper.Current()
	if g == nil {
		return nil
	}
	due, err := in.dueWarehouses(ctx, in.known())
	if err != nil {
		return err
	}
	for _, w := range due {
		err := in.sweepOne(ctx, g.Epoch, w)
		if _, other := errors.AsType[*index.EpochError](err); err != nil && !other { // of which a reader or a delivery will find out what it means
			return err
		}
	}
	return nil
}

// sweepOne removes what has expired in a warehouse. Callers who come meanwhile wait for the one that does.
func (in *Inbox) sweepOne(ctx context.Context, epoch, warehouse string) error {
	done := in.sweeps.DoChan(epoch+" "+warehouse, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), index.Patience) // it does not end with this caller
		defer cancel()
		for {
			if n, err := in.sweepSome(ctx, epoch, warehouse); n == 0 || err != nil {
				return nil, err
			}
		}
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// dueWarehouses finds those in which something has expired, in one round trip.
func (in *Inbox) dueWarehouses(ctx context.Context, warehouses []string) ([]string, error) {
	if len(warehouses) == 0 {
		return nil, nil
	}
	first := make([]*redis.ZSliceCmd, len(warehouses))
	var clock *redis.TimeCmd
	_, err := in.o.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		clock = p.Time(ctx)
		for i, w := range warehouses {
			first[i] = p.ZRangeWithScores(ctx, in.keys.expiry(w), 0, 0)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	now := clock.Val()
	if in.o.Now != nil {
		now = in.o.Now()
	}
	var due []string
	for i, cmd := range first {
		if z := cmd.Val(); len(z) > 0 && int64(z[0].Score) <= now.UnixMicro() {
			due = append(due, warehouses[i])
		}
	}
	return due, nil
}

// sweepSome removes one batch and returns how many ids it had.
func (in *Inbox) sweepSome(ctx context.Context, epoch, warehouse string) (int, error) {
	keys := in.keys.all(warehouse, 0)[:3]
	reply, err := in.run(ctx, in.scripts.due, keys, epoch, in.now(), maxBatch)
	if err != nil || len(reply) == 0 {
		return 0, err
	}
	answer, err := texts(reply)
	if err != nil {
		return 0, err
	}
	var blocks, ids []string
	var h holders
	for len(answer) > 0 {
		block := answer[0]
		members := strings.Fields(block)
		blocks = append(blocks, block)
		ids = append(ids, members...)
		for i, id := range members {
			if err := h.add(id, answer[1+i]); err != nil {
				in.log.Error("a body in Redis is no notice; it goes", "warehouse", warehouse, "id", id, "error", err)
			}
		}
		answer = answer[1+len(members):]
	}
	_, err = in.remove(ctx, epoch, warehouse, true, blocks, ids, h)
	return len(ids), err
}
