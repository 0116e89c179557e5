package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/item"
)

// Ahead implements recovery.Contents. A script removes an entry from the outbox only after the ledger has it. So if the
// ledger does not have such an entry, the ledger was restored from a backup.
func (q rebuilder) Ahead(ctx context.Context, epoch string) (string, error) {
	for _, l := range q.lines {
		drained, err := l.drained(ctx, epoch)
		if err != nil {
			return "", err
		}
		// Ask the ledger after Redis. Another node may drain in between, and then the ledger's position must be the
		// later one.
		applied, err := l.o.Ledger.AppliedMoves(ctx, l.name, epoch)
		if err != nil {
			return "", fmt.Errorf("ledger: %w", err)
		}
		if applied < drained {
			return fmt.Sprintf("the ledger has the moves of queue %s up to %d, and had them up to %d", l.name, applied, drained), nil
		}
	}
	return "", nil
}

// drained returns the position of the last entry that was removed from the outbox because the ledger had it. drained
// returns 0 if the line is in another epoch.
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

// withheldNote is the note in the trace of a withheld item.
const withheldNote = "withheld: the ledger was restored, and the item had ended since the backup; remove it, or requeue it to run again"

// Withhold implements recovery.Contents. Redis has every unfinished item. So an item that is unfinished in the ledger
// and missing in Redis has ended since the backup. Nobody knows how it ended, so it waits for an operator.
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

// withhold withholds items of one line. If the line is in another epoch by now, it was written back since, and nothing
// can be learned from it.
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
