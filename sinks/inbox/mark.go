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
	trimEvery = 15 * time.Minute // for one user
	markStays = time.Hour        // in any case: its notice may be on its way
	maxMarks  = 1000             // in one script call

	maxWatermarks = 200 // of one user in one script call
)

// Mark tells the readers' other windows what the ledger has recorded. It does not wait for an index that is out of reach:
// whatever fails here comes from the ledger, within seconds (see catchUp).
func (in marker) Mark(ctx context.Context, marks []delivery.Mark) error {
	return in.inForce(func(g *recovery.Generation) error {
		return in.putMarks(ctx, g, marks, func(delivery.Mark) int64 { return 0 })
	})
}

// ReadAll does for watermarks what Mark does for marks.
func (in marker) ReadAll(ctx context.Context, list []delivery.Watermark) error {
	return in.inForce(func(g *recovery.Generation) error {
		return in.putWatermarks(ctx, g, list, func(delivery.Watermark) int64 { return 0 })
	})
}

// UpTo is the score that a cursor stands for, never above the clock of the warehouse. Its errors are Poll's, and page.ErrForeignCursor
// where the cursor is of another warehouse.
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

// inForce calls f with the generation in force.
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

// putMarks puts marks into Redis, with the clock that each is from; 0 = it is made now, and windows that wait are told.
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

// putWatermarks does for watermarks what putMarks does for marks.
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

// markHead is what both scripts begin with.
func (in marker) markHead(g *recovery.Generation, warehouse string, users []string) []any {
	return []any{g.Epoch, in.now(), trimEvery.Microseconds(), in.keys.hints(), hint{warehouse: warehouse, subscribers: users}.String()}
}

// inWarehouse makes a call; where the warehouse has no clock yet, it gets one.
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
	// markLag is how long after its time a mark may become visible in the ledger: clocks of nodes that differ, and a transaction
	// that takes its time.
	markLag  = time.Minute
	markPage = 5000
)

// markedField of the epoch's hash is the time, µs, up to which Redis has all marks of the ledger.
const markedField = "marked"

// catchUpAll brings marks into Redis that a node recorded and could not put there, or died before it did. The nodes take
// turns, as the hash of the epoch says.
func (in marker) catchUpAll(ctx context.Context) {
	every(ctx, catchUpEvery, func() {
		if err := in.catchUp(ctx, catchUpEvery); err != nil && ctx.Err() == nil {
			in.log.Debug("marks could not be looked after; they are again in a moment", "error", err)
		}
	})
}

// catchUp does so unless it was done for as long as every.
func (in marker) catchUp(ctx context.Context, every time.Duration) error {
	g, _ := in.keeper.Current()
	if g == nil {
		return nil
	}
	text, err := in.o.Client.HGet(ctx, in.keys.epoch(), markedField).Result()
	if errors.Is(err, redis.Nil) { // the index is from before there were marks in it
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

// putSince puts the marks since then into Redis; those that are there already change nothing, and others are told of.
func (in marker) putSince(ctx context.Context, g *recovery.Generation, since time.Time) error {
	return in.putAll(ctx, g, since, in.o.Ledger.RecentMarks, func(time.Time) int64 { return 0 })
}

// writeBackMarks puts all marks of notices that have not expired into Redis, as they were; nobody is told. began is taken
// first, so that what is marked meanwhile is looked after later.
func (in marker) writeBackMarks(ctx context.Context, g *recovery.Generation) error {
	began := in.time()
	if err := in.putAll(ctx, g, time.Time{}, in.o.Ledger.LiveMarks, time.Time.UnixMicro); err != nil {
		return err
	}
	return in.markedUntil(ctx, began)
}

// putAll puts what read has of marks, and all watermarks, since then into Redis, at the time in µs that at makes of theirs; 0 = now.
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

// time is the machine's, by which marks are made.
func (in *index) time() time.Time {
	if in.o.Now != nil {
		return in.o.Now()
	}
	return time.Now()
}
