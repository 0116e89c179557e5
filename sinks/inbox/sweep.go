package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/sinks/recovery"
)

// sweepAll removes expired notices once a second. Every node does so, but each notice is removed only once.
func (in sweeper) sweepAll(ctx context.Context) {
	every(ctx, sweepEvery, func() {
		if err := in.Sweep(ctx); err != nil && ctx.Err() == nil {
			in.log.Warn("Expired notices were not removed. The next round tries again.", "error", err)
		}
	})
}

// Sweep removes the expired notices of all warehouses that this node knows. Run calls it once a second.
func (in sweeper) Sweep(ctx context.Context) error {
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
		// A warehouse at another epoch is skipped. The next reader or delivery finds out what that means.
		if _, other := errors.AsType[*recovery.EpochError](err); err != nil && !other {
			return err
		}
	}
	return nil
}

// sweepOne removes the expired notices of a warehouse. Concurrent callers share one sweep.
func (in sweeper) sweepOne(ctx context.Context, epoch, warehouse string) error {
	done := in.sweeps.DoChan(epoch+" "+warehouse, func() (any, error) {
		// other callers share the sweep, so it must not end with this one
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recovery.CallTimeout)
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

// dueWarehouses returns the warehouses that have expired notices, with one round trip.
func (in sweeper) dueWarehouses(ctx context.Context, warehouses []string) ([]string, error) {
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

// sweepSome removes one batch of expired notices. sweepSome returns how many blocks and ids were in the batch.
func (in sweeper) sweepSome(ctx context.Context, epoch, warehouse string) (int, error) {
	reply, err := in.run(ctx, in.scripts.due, in.keys.all(warehouse, 0)[:3], epoch, in.now(), maxBatch, maxBytes)
	if err != nil || len(reply) == 0 {
		return 0, err
	}
	last, h, blocks, err := in.parseDue(warehouse, reply)
	if err != nil {
		return 0, err
	}
	for _, id := range last.wide {
		if err := in.expireWide(ctx, epoch, warehouse, id); err != nil {
			return 0, err
		}
	}
	// First remove the notices from their inboxes. The call for the last inboxes also removes the bodies.
	var part removal
	pairs := 0
	for _, one := range h.list {
		if len(part.held) == in.o.maxInboxes || pairs+len(one.ids) > maxPairs {
			part.expired = true
			if _, err := in.remover.remove(ctx, epoch, warehouse, part); err != nil {
				return 0, err
			}
			part, pairs = removal{}, 0
		}
		part.held = append(part.held, one)
		pairs += len(one.ids)
	}
	last.held = part.held
	_, err = in.remover.remove(ctx, epoch, warehouse, last)
	return blocks + len(last.ids) + len(last.wide), err
}

// parseDue reads the answer of due.lua: the bodies to remove, the inboxes that may hold them, and the number of blocks.
func (in sweeper) parseDue(warehouse string, reply []any) (last removal, h holders, blocks int, err error) {
	last.expired = true
	odd := fmt.Errorf("inbox: due.lua answered %d values", len(reply))
	answer, err := texts(reply)
	if err != nil {
		return last, h, 0, err
	}
	for len(answer) > 0 {
		if len(answer) < 3 {
			return last, h, 0, odd
		}
		n, err := strconv.Atoi(answer[2])
		if err != nil || n < 0 || len(answer) < 3+2*n {
			return last, h, 0, odd
		}
		blocks++
		if answer[1] == "1" {
			last.blocks = append(last.blocks, answer[0])
		}
		for i := 3; i < 3+2*n; i += 2 {
			to := in.remover.recipients(warehouse, answer[i], answer[i+1])
			h.add(answer[i], to)
			last.take(answer[i], to)
		}
		answer = answer[3+2*n:]
	}
	return last, h, blocks, nil
}

// expireWide removes an expired wide notice from its inboxes. If the notice is still being delivered, the delivery is
// undone.
func (in sweeper) expireWide(ctx context.Context, epoch, warehouse, id string) error {
	open, err := in.o.Client.HGet(ctx, in.keys.clock(warehouse), openField).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	if parts := strings.Fields(open); len(parts) > 1 && parts[1] == id {
		return in.remover.undo(ctx, epoch, warehouse, open)
	}
	return in.remover.emptyWide(ctx, epoch, warehouse, "", id)
}

// trimAll removes marks of notices that are gone, once a minute. Until then the marks only take memory.
func (in sweeper) trimAll(ctx context.Context) {
	every(ctx, time.Minute, func() {
		if err := in.Trim(ctx); err != nil && ctx.Err() == nil {
			in.log.Warn("Marks of notices that are gone were not removed. The next round tries again.", "error", err)
		}
	})
}

// maxTrimmed is how many readers of a warehouse one round looks through.
const maxTrimmed = 500

// Trim looks through the marks of the readers that are due, in all warehouses that this node knows.
func (in sweeper) Trim(ctx context.Context) error {
	g, _ := in.keeper.Current()
	if g == nil {
		return nil
	}
	until := formatScore(in.time().UnixMicro())
	for _, warehouse := range in.known() {
		users, err := in.o.Client.ZRangeByScore(ctx, in.keys.readers(warehouse), &redis.ZRangeBy{Min: "-inf", Max: until, Count: maxTrimmed}).Result()
		if err != nil {
			return err
		}
		for _, user := range users {
			if err := in.trim(ctx, g, warehouse, user); err != nil {
				return err
			}
		}
	}
	return nil
}

// trim looks through the marks and watermarks of a user, in as many calls of trim.lua as needed.
func (in sweeper) trim(ctx context.Context, g *recovery.Generation, warehouse, user string) error {
	marks, upto := in.keys.marks(warehouse, user), in.keys.upto(warehouse, user)
	list, err := in.o.Client.ZRange(ctx, upto, 0, -1).Result()
	if err != nil {
		return err
	}
	var inboxes []string
	for _, member := range list {
		if _, inbox, ok := strings.Cut(member, " "); ok {
			inboxes = append(inboxes, inbox)
		}
	}
	slices.Sort(inboxes)
	inboxes = slices.Compact(inboxes)
	for place := int64(0); place >= 0 || len(inboxes) > 0; {
		some := inboxes[:min(len(inboxes), in.o.maxInboxes)]
		inboxes = inboxes[len(some):]
		keys := []string{in.keys.clock(warehouse), in.keys.notices(warehouse), in.keys.readers(warehouse), marks, upto}
		most := maxMarks
		if place < 0 {
			most = 0
		}
		args := []any{g.Epoch, in.now(), trimEvery.Microseconds(), user, markStays.Microseconds(), max(0, place), most}
		for _, inbox := range some {
			keys = append(keys, in.keys.inbox(warehouse, inbox))
			args = append(args, inbox)
		}
		reply, err := in.run(ctx, in.scripts.trim, keys, args...)
		if err != nil {
			return err
		}
		if len(reply) != 2 {
			return fmt.Errorf("inbox: trim.lua answered %d values", len(reply))
		}
		p := parser{reply: reply}
		if place = p.number(1); p.err != nil {
			return p.err
		}
	}
	return nil
}

func formatScore(score int64) string { return strconv.FormatInt(score, 10) }
