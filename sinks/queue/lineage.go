package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/item"
)

// Ahead implements recovery.Contents: the ledger must have what Redis has let go from the outbox of each line, because the ledger had it.
func (q rebuilder) Ahead(ctx context.Context, epoch string) (string, error) {
	for _, l := range q.lines {
		drained, err := l.drained(ctx, epoch)
		if err != nil {
			return "", err
		}
		applied, err := l.o.Ledger.AppliedMoves(ctx, l.name, epoch) // asked last: it is never behind what Redis was told before
		if err != nil {
			return "", fmt.Errorf("ledger: %w", err)
		}
		if applied < drained {
			return fmt.Sprintf("the ledger has the moves of queue %s up to %d, and had them up to %d", l.name, applied, drained), nil
		}
	}
	return "", nil
}

// drained is the position up to which the ledger had the outbox of a line that is in the epoch; 0 of one that is in another.
func (l *queueLine) drained(ctx context.Context, epoch string) (int64, error) {
	meta, err := l.o.Client.HMGet(ctx, l.keys.meta(), "epoch", "drained").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("redis: %w", err)
	}
	at, _ := meta[0].(string)
	text, _ := meta[1].(string)
	if at != epoch || text == "" {
		return 0, nil
	}
	drained, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("queue %s: the position of the outbox: %w", l.name, err)
	}
	return drained, nil
}

// withheldNote is what the trace of a withheld item says.
const withheldNote = "withheld: the ledger was restored, and the item had ended since the backup; remove it, or requeue it to run again"

// Withhold implements recovery.Contents. An item that the ledger has as unfinished and that Redis does not have has ended since the backup: Redis has
// every unfinished item. How it ended nobody knows, so it waits for an operator.
func (q rebuilder) Withhold(ctx context.Context, epoch string) (withheld, dropped int, err error) {
	for _, l := range q.lines {
		w, d, err := q.withhold(ctx, l, epoch)
		withheld, dropped = withheld+w, dropped+d
		if err != nil {
			return withheld, dropped, fmt.Errorf("queue %s: %w", l.name, err)
		}
	}
	return withheld, dropped, nil
}

// withhold does so in a line. One that is in another epoch by now was written back since, and tells nothing any more.
func (q rebuilder) withhold(ctx context.Context, l *queueLine, epoch string) (withheld, dropped int, err error) {
	there := 0
	for after := int64(0); ; {
		page, err := l.o.Ledger.UnfinishedItems(ctx, l.name, after, restorePage)
		if err != nil {
			return withheld, 0, fmt.Errorf("ledger: %w", err)
		}
		if len(page) == 0 {
			break
		}
		after = page[len(page)-1].Seq
		absent, err := q.absent(ctx, l, epoch, page)
		if epochIsOver(err) {
			return withheld, 0, nil
		}
		if err != nil {
			return withheld, 0, err
		}
		list := make([]item.Withheld, len(absent))
		for i := range absent {
			list[i] = item.Withheld{Seq: absent[i].Seq, At: l.time(), Node: l.o.Node, Note: withheldNote}
		}
		if err := l.o.Ledger.WithholdItems(ctx, l.name, list); err != nil {
			return withheld, 0, fmt.Errorf("ledger: %w", err)
		}
		withheld, there = withheld+len(absent), there+len(page)-len(absent)
	}
	all, err := l.o.Client.HLen(ctx, l.keys.items()).Result()
	if err != nil {
		return withheld, 0, fmt.Errorf("redis: %w", err)
	}
	return withheld, max(int(all)-there, 0), nil
}
