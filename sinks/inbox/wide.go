package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A notice is wide if the notice is for more inboxes than one script call may touch. A wide notice is delivered in
// portions, but becomes visible in all inboxes at once. Its score lies above the warehouse's clock until the last call
// moves the clock past the score (see open.lua). An interrupted delivery continues with the same score when the notice
// is delivered again. If another delivery comes first, the open delivery is undone.

// wideGap is how many scores are left free below the score of a wide notice, for marks that users make during the
// delivery. wideGap is 10 ms of the clock, less than such a delivery takes.
const wideGap = 10_000

// openField is the field of a warehouse's clock that holds the score and id of the open wide delivery.
const openField = "open"

// putWide delivers a wide notice and returns its score.
func (in writer) putWide(ctx context.Context, epoch, warehouse, channel string, e *entry) (int64, error) {
	score, done, err := in.openWide(ctx, epoch, warehouse, e)
	if err != nil || done {
		return score, err
	}
	part := 0
	for to := range slices.Chunk(e.to, in.o.maxInboxes) {
		keys := []string{in.keys.clock(warehouse), in.keys.inboxes(warehouse), in.keys.wide(warehouse), in.keys.to(warehouse, e.id)}
		keys = in.keys.addInboxes(keys, warehouse, to)
		reply, err := in.run(ctx, in.scripts.add, keys, epoch, in.o.Cap, e.id, formatScore(score), part, strings.Join(to, " "))
		if err != nil {
			return 0, err
		}
		removed, err := texts(reply)
		if err != nil {
			return 0, err
		}
		in.remover.dropped(ctx, epoch, warehouse, removed)
		part++
	}
	keys := []string{in.keys.clock(warehouse), in.keys.popups(warehouse)}
	_, err = in.runCount(ctx, in.scripts.close, keys, epoch, e.id, formatScore(score), flag(e.popup), channel, hint{warehouse: warehouse}.String(), e.origin())
	return score, err
}

// openWide opens the delivery, or finds the interrupted one. done is true if the inboxes hold the notice already.
func (in writer) openWide(ctx context.Context, epoch, warehouse string, e *entry) (score int64, done bool, err error) {
	keys := append(in.keys.all(warehouse, 0)[:3], in.keys.wide(warehouse))
	looked := ""
	for {
		reply, err := in.run(ctx, in.scripts.open, keys, epoch, in.now(), e.id, e.body, e.expires, e.score, in.o.wideGap, looked)
		if err != nil {
			return 0, false, err
		}
		p := parser{reply: reply}
		if len(reply) != 2 {
			return 0, false, fmt.Errorf("inbox: open.lua answered %d values", len(reply))
		}
		opened, at := p.number(0) == 1, p.score(1)
		if p.err != nil || opened {
			return at, false, p.err
		}
		if score, err = in.scoreOf(ctx, warehouse, e, at); err != nil || score > 0 {
			return score, true, err
		}
		// No inbox holds the notice any more, so it is new, unless the clock moves before the next call.
		looked = formatScore(at)
	}
}

// scoreOf looks for the score of a notice in the inboxes of its recipients, up to a clock. scoreOf returns 0 if no
// inbox holds the notice.
func (in writer) scoreOf(ctx context.Context, warehouse string, e *entry, clock int64) (int64, error) {
	for to := range slices.Chunk(e.to, in.o.maxInboxes) {
		found := make([]*redis.FloatCmd, len(to))
		_, err := in.o.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, s := range to {
				found[i] = p.ZScore(ctx, in.keys.inbox(warehouse, s), e.id)
			}
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			return 0, err
		}
		for _, cmd := range found {
			score, err := cmd.Result()
			if err == nil && int64(score) <= clock {
				return int64(score), nil
			}
			if err != nil && !errors.Is(err, redis.Nil) {
				return 0, err
			}
		}
	}
	return 0, nil
}

// undoing calls do. If another open wide delivery is in the way, undoing undoes that delivery and calls do again.
func (in remover) undoing(ctx context.Context, epoch, warehouse string, do func() error) error {
	for {
		err := do()
		other, ok := errors.AsType[*openError](err)
		if !ok {
			return err
		}
		in.log.Debug("An interrupted delivery of a wide notice is undone.", "warehouse", warehouse, "open", other.open)
		if err := in.undo(ctx, epoch, warehouse, other.open); err != nil {
			return err
		}
	}
}

// undo undoes an open wide delivery if it is still the one that was found.
func (in remover) undo(ctx context.Context, epoch, warehouse, found string) error {
	open, err := in.scripts.undo.Run(ctx, in.o.Client, []string{in.keys.clock(warehouse)}, epoch, found).Text()
	if err = known(err); err != nil || open == "" {
		return err
	}
	id := strings.Fields(open)[1]
	err = in.emptyWide(ctx, epoch, warehouse, open, id)
	if err == nil {
		_, err = in.remove(ctx, epoch, warehouse, removal{expired: true, open: open, blocks: []string{id}, wide: []string{id}})
	}
	if errors.Is(err, errLate) { // another node did the same
		return nil
	}
	return err
}

// emptyWide removes a wide notice from its inboxes, portion by portion. open must match the open delivery; "" matches
// any.
func (in remover) emptyWide(ctx context.Context, epoch, warehouse, open, id string) error {
	parts, err := in.o.Client.HLen(ctx, in.keys.to(warehouse, id)).Result()
	if err != nil {
		return err
	}
	for part := range parts {
		names, err := in.o.Client.HGet(ctx, in.keys.to(warehouse, id), strconv.FormatInt(part, 10)).Result()
		if errors.Is(err, redis.Nil) { // another node was faster
			return nil
		}
		if err != nil {
			return err
		}
		// a portion may have been written with a higher limit
		for to := range slices.Chunk(strings.Fields(names), in.o.maxInboxes) {
			r := removal{expired: true, open: open}
			for _, s := range to {
				r.held = append(r.held, holding{s, []string{id}})
			}
			if _, err := in.remove(ctx, epoch, warehouse, r); err != nil {
				return err
			}
		}
	}
	return nil
}
