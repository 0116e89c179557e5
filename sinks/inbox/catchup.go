package inbox

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/delivery"
	"tallyman/sinks/recovery"
)

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
func (in *Inbox) catchUpAll(ctx context.Context) {
	every(ctx, catchUpEvery, func() {
		if err := in.catchUp(ctx, catchUpEvery); err != nil && ctx.Err() == nil {
			in.log.Debug("marks could not be looked after; they are again in a moment", "error", err)
		}
	})
}

// catchUp does so unless it was done for as long as every.
func (in *Inbox) catchUp(ctx context.Context, every time.Duration) error {
	g, _ := in.keeper.Current()
	if g == nil {
		return nil
	}
	text, err := in.o.Client.HGet(ctx, in.keys.epoch(), markedField).Result()
	if errors.Is(err, redis.Nil) { // the index is from before there were marks in it
		return in.writeBackMarks(ctx, g.Epoch)
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
func (in *Inbox) putSince(ctx context.Context, g *recovery.Generation, since time.Time) error {
	return in.putAll(ctx, g, since, in.o.Ledger.RecentMarks, func(time.Time) int64 { return 0 })
}

// writeBackMarks puts all marks of notices that have not expired into Redis, as they were; nobody is told. began is taken
// first, so that what is marked meanwhile is looked after later.
func (in *Inbox) writeBackMarks(ctx context.Context, epoch string) error {
	began, g := in.time(), &recovery.Generation{Epoch: epoch}
	if err := in.putAll(ctx, g, time.Time{}, in.o.Ledger.LiveMarks, time.Time.UnixMicro); err != nil {
		return err
	}
	return in.markedUntil(ctx, began)
}

// putAll puts what read has of marks, and all watermarks, since then into Redis, at the time in µs that at makes of theirs; 0 = now.
func (in *Inbox) putAll(
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

func (in *Inbox) markedUntil(ctx context.Context, t time.Time) error {
	return in.o.Client.HSet(ctx, in.keys.epoch(), markedField, t.UnixMicro()).Err()
}

// time is the machine's, by which marks are made.
func (in *Inbox) time() time.Time {
	if in.o.Now != nil {
		return in.o.Now()
	}
	return time.Now()
}
