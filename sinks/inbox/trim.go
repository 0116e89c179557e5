package inbox

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/sinks/index"
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

// trim is one call of trim.lua.
func (in *Inbox) trim(ctx context.Context, g *index.Generation, warehouse, user string) error {
	marks, upto := in.keys.marks(warehouse, user), in.keys.upto(warehouse, user)
	list, err := in.o.Client.ZRange(ctx, upto, 0, -1).Result()
	if err != nil {
		return err
	}
	keys := []string{in.keys.clock(warehouse), in.keys.notices(warehouse), in.keys.readers(warehouse), marks, upto}
	args := []any{g.Epoch, in.now(), trimEvery.Microseconds(), user, markStays.Microseconds()}
	seen := map[string]bool{}
	for _, member := range list {
		_, inbox, ok := strings.Cut(member, " ")
		if ok && !seen[inbox] {
			seen[inbox] = true
			keys = append(keys, in.keys.inbox(warehouse, inbox))
			args = append(args, inbox)
		}
	}
	_, err = in.runCount(ctx, in.scripts.trim, keys, args...)
	return err
}

func formatScore(score int64) string { return strconv.FormatInt(score, 10) }
