package inbox

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/sinks/recovery"
)

// trimAll removes marks whose notices are gone, once a minute. Until then they take room and change nothing.
func (in *Inbox) trimAll(ctx context.Context) {
	every(ctx, time.Minute, func() {
		if err := in.Trim(ctx); err != nil && ctx.Err() == nil {
			in.log.Warn("marks of notices that are gone could not be removed", "error", err)
		}
	})
}

// maxTrimmed bounds how many readers of a warehouse are looked through in a row.
const maxTrimmed = 500

// Trim looks through the readers whose turn it is, in all warehouses that this node knows.
func (in *Inbox) Trim(ctx context.Context) error {
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

// trim looks through the marks of a user, and through its watermarks, in as many calls of trim.lua as that takes.
func (in *Inbox) trim(ctx context.Context, g *recovery.Generation, warehouse, user string) error {
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
