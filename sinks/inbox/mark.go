package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/delivery"
	"tallyman/sinks/inbox/page"
	"tallyman/sinks/recovery"
)

const (
	trimEvery = 15 * time.Minute // how often the marks of one user are looked through
	markStays = time.Hour        // how long a mark stays at least: its notice may not be delivered yet
	maxMarks  = 1000             // in one script call

	maxWatermarks = 200 // of one user in one script call
)

// Mark copies marks that the ledger has recorded to Redis, so that the user's other windows see them. Mark does not
// wait for Redis. Marks that fail here are copied from the ledger within seconds (see catchUp).
func (in marker) Mark(ctx context.Context, marks []delivery.Mark) error {
	return in.inForce(func(g *recovery.Generation) error {
		return in.putMarks(ctx, g, marks, func(delivery.Mark) int64 { return 0 })
	})
}

// ReadAll is Mark for watermarks.
func (in marker) ReadAll(ctx context.Context, list []delivery.Watermark) error {
	return in.inForce(func(g *recovery.Generation) error {
		return in.putWatermarks(ctx, g, list, func(delivery.Watermark) int64 { return 0 })
	})
}

// UpTo returns the score of a cursor, but at most the clock of the warehouse. Its errors are those of Poll, and
// page.ErrForeignCursor if the cursor belongs to another warehouse.
func (in marker) UpTo(ctx context.Context, warehouse, cursor string) (int64, error) {
	c, err := page.DecodeCursor(cursor)
	if err != nil {
		return 0, err
	}
	if !c.Query.SameWarehouse(page.HashWarehouse(warehouse)) {
		return 0, page.ErrForeignCursor
	}
	r := &reader{Query: page.Query{Warehouse: warehouse}}
	var score int64
	err = in.keeper.Serve(ctx, func(ctx context.Context, g *recovery.Generation) error {
		clock, err := in.clockOf(ctx, g, r)
		score = min(c.Score, clock.clock)
		return err
	})
	return score, err
}

// inForce calls f with the generation in force. inForce returns page.ErrUnavailable if there is none, or if the
// generation ended meanwhile.
func (in marker) inForce(f func(*recovery.Generation) error) error {
	g, _ := in.keeper.Current()
	if g == nil {
		return page.ErrUnavailable
	}
	if err := f(g); err != nil {
		return err
	}
	if !in.keeper.Is(g) {
		return page.ErrUnavailable
	}
	return nil
}

// putMarks puts marks into Redis. when returns the clock of a mark in µs. 0 means now: then waiting windows get a hint.
func (in marker) putMarks(ctx context.Context, g *recovery.Generation, marks []delivery.Mark, when func(delivery.Mark) int64) error {
	for part := range slices.Chunk(marks, maxMarks) {
		if err := in.putSomeMarks(ctx, g, part, when); err != nil {
			return err
		}
	}
	return nil
}

func (in marker) putSomeMarks(ctx context.Context, g *recovery.Generation, marks []delivery.Mark, when func(delivery.Mark) int64) error {
	type readers struct {
		users []string
		marks map[string][]delivery.Mark
	}
	warehouses := map[string]*readers{}
	for _, m := range marks {
		of := warehouses[m.Warehouse]
		if of == nil {
			of = &readers{marks: map[string][]delivery.Mark{}}
			warehouses[m.Warehouse] = of
		}
		if _, ok := of.marks[m.User]; !ok {
			of.users = append(of.users, m.User)
		}
		of.marks[m.User] = append(of.marks[m.User], m)
	}
	for warehouse, of := range warehouses {
		keys := []string{in.keys.clock(warehouse), in.keys.readers(warehouse)}
		args := in.markHead(g, warehouse, of.users)
		for _, user := range of.users {
			keys = append(keys, in.keys.marks(warehouse, user))
			args = append(args, user, len(of.marks[user]))
			for _, m := range of.marks[user] {
				kind := "r"
				if m.Acked {
					kind = "a"
				}
				args = append(args, kind, m.Notice, when(m))
			}
		}
		err := in.inWarehouse(ctx, g, warehouse, func() error {
			_, err := in.runCount(ctx, in.scripts.mark, keys, args...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// putWatermarks is putMarks for watermarks.
func (in marker) putWatermarks(ctx context.Context, g *recovery.Generation, list []delivery.Watermark, when func(delivery.Watermark) int64) error {
	type place struct{ warehouse, user string }
	var places []place
	of := map[place][]delivery.Watermark{}
	for _, w := range list {
		at := place{w.Warehouse, w.User}
		if _, ok := of[at]; !ok {
			places = append(places, at)
		}
		of[at] = append(of[at], w)
	}
	for _, at := range places {
		for part := range slices.Chunk(of[at], maxWatermarks) {
			keys := []string{in.keys.clock(at.warehouse), in.keys.readers(at.warehouse), in.keys.upto(at.warehouse, at.user)}
			args := append(in.markHead(g, at.warehouse, []string{at.user}), at.user, in.o.keepUpto, keepInboxes)
			for _, w := range part {
				args = append(args, w.Inbox, w.Score, when(w))
			}
			err := in.inWarehouse(ctx, g, at.warehouse, func() error {
				_, err := in.runCount(ctx, in.scripts.readAll, keys, args...)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// markHead returns the first arguments of mark.lua and readall.lua.
func (in marker) markHead(g *recovery.Generation, warehouse string, users []string) []any {
	return []any{g.Epoch, in.now(), trimEvery.Microseconds(), in.keys.hints(), hint{warehouse: warehouse, subscribers: users}.String()}
}

// inWarehouse makes a call. If the warehouse has no clock yet, it opens the warehouse and calls again.
func (in marker) inWarehouse(ctx context.Context, g *recovery.Generation, warehouse string, do func() error) error {
	call := func() error { return in.remover.undoing(ctx, g.Epoch, warehouse, do) }
	err := call()
	if other, ok := errors.AsType[*recovery.EpochError](err); ok {
		if err = in.openWarehouse(ctx, g, warehouse, other); err != nil {
			return err
		}
		err = call()
	}
	if err != nil {
		return fmt.Errorf("inbox: marks in warehouse %s: %w", warehouse, err)
	}
	in.learn(warehouse)
	return nil
}

const (
	catchUpEvery = 5 * time.Second
	// markLag is how late a mark may become visible in the ledger: clocks of nodes differ, and transactions take time.
	markLag  = time.Minute
	markPage = 5000
)

// markedField is a field of the epoch's hash: the time, µs, up to which Redis has all marks of the ledger.
const markedField = "marked"

// catchUpAll copies marks from the ledger that a node recorded but did not copy to Redis, because of an error or
// because the node died. The nodes take turns: markedField says when a node did so last.
func (in marker) catchUpAll(ctx context.Context) {
	every(ctx, catchUpEvery, func() {
		if err := in.catchUp(ctx, catchUpEvery); err != nil && ctx.Err() == nil {
			in.log.Debug("Read marks were not copied to Redis. The ledger has them, and the next round tries again.",
				"error", err)
		}
	})
}

// catchUp copies recent marks, unless a node did so within the time every.
func (in marker) catchUp(ctx context.Context, every time.Duration) error {
	g, _ := in.keeper.Current()
	if g == nil {
		return nil
	}
	text, err := in.o.Client.HGet(ctx, in.keys.epoch(), markedField).Result()
	if errors.Is(err, redis.Nil) { // the index was written before it had marks
		return in.writeBackMarks(ctx, g)
	}
	if err != nil {
		return err
	}
	micros, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return err
	}
	began, marked := in.time(), time.UnixMicro(micros)
	if began.Sub(marked) < every {
		return nil
	}
	if err := in.putSince(ctx, g, marked.Add(-markLag)); err != nil {
		return err
	}
	return in.markedUntil(ctx, began)
}

// putSince copies the marks since that time. Marks that Redis has already change nothing. New ones cause hints.
func (in marker) putSince(ctx context.Context, g *recovery.Generation, since time.Time) error {
	return in.putAll(ctx, g, since, in.o.Ledger.RecentMarks, func(time.Time) int64 { return 0 })
}

// writeBackMarks copies all marks of notices that have not expired, with their old times and without hints. The start
// time is taken before reading, so that marks made meanwhile are copied by the next round.
func (in marker) writeBackMarks(ctx context.Context, g *recovery.Generation) error {
	began := in.time()
	if err := in.putAll(ctx, g, time.Time{}, in.o.Ledger.LiveMarks, time.Time.UnixMicro); err != nil {
		return err
	}
	return in.markedUntil(ctx, began)
}

// putAll copies all marks that read returns, and all watermarks, since that time. at returns the time of a mark in µs;
// 0 means now.
func (in marker) putAll(
	ctx context.Context, g *recovery.Generation, since time.Time,
	read func(ctx context.Context, after delivery.Mark, limit int) ([]delivery.Mark, error), at func(time.Time) int64,
) error {
	for after := (delivery.Mark{At: since}); ; {
		list, err := read(ctx, after, markPage)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			break
		}
		after = list[len(list)-1]
		if err := in.putMarks(ctx, g, list, func(m delivery.Mark) int64 { return at(m.At) }); err != nil {
			return err
		}
	}
	for after := (delivery.Watermark{At: since}); ; {
		list, err := in.o.Ledger.Watermarks(ctx, after, markPage)
		if err != nil || len(list) == 0 {
			return err
		}
		after = list[len(list)-1]
		if err := in.putWatermarks(ctx, g, list, func(w delivery.Watermark) int64 { return at(w.At) }); err != nil {
			return err
		}
	}
}

func (in marker) markedUntil(ctx context.Context, t time.Time) error {
	return in.o.Client.HSet(ctx, in.keys.epoch(), markedField, t.UnixMicro()).Err()
}

// time returns the time of this machine's clock, which also dates the marks.
func (in *index) time() time.Time {
	if in.o.Now != nil {
		return in.o.Now()
	}
	return time.Now()
}
