package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tallyman/internal/item"
)

// An item may be recorded in the ledger and missing in Redis for three reasons. Redis lost the item, or the push died on
// the way, or the item has ended and the ledger does not know the end yet. Only in the last case the item must not be
// put into Redis. One look does not show which case it is: while a node looks, a late push may arrive, and a worker may
// finish its item. So a repair has three steps:
//
//  1. repair.lua returns the missing items. From this moment on no push puts these items in.
//  2. The repair waits until the ledger has all moves up to that moment.
//  3. Items that are still unfinished in the ledger had no worker in the meantime. Only the newest repair puts these
//     items in.
//
// A push uses the same steps for an item that the script leaves to repairs: see enqueuedRepaired.

// errRepair says that every try of a repair ended because another node began a newer repair.
var errRepair = errors.New("queue: other nodes repair the same items")

const repairTries = 20

// repair puts the missing and unfinished items of the records into Redis, as the ledger has them. The answers are those
// of enqueue.lua. An item that has ended gets the same answer as an item that was in Redis.
func (q rebuilder) repair(ctx context.Context, l *queueLine, epoch string, records []item.Record) ([]string, error) {
	if len(records) == 0 {
		return nil, nil
	}
	for range repairTries {
		answers, err := q.repairOnce(ctx, l, epoch, records)
		if !errors.Is(err, errToken) {
			return answers, err
		}
	}
	return nil, errRepair
}

func (q rebuilder) repairOnce(ctx context.Context, l *queueLine, epoch string, records []item.Record) ([]string, error) {
	answers := make([]string, len(records))
	for i := range answers {
		answers[i] = enqueuedExists
	}
	position, token, missing, err := l.missing(ctx, epoch, records)
	if err != nil || len(missing) == 0 {
		return answers, err
	}
	if err := l.awaitApplied(ctx, epoch, position); err != nil {
		return nil, err
	}
	places := make(map[int64]int, len(missing)) // by seq
	for _, place := range missing {
		places[records[place].Seq] = place
	}
	lost, err := l.unfinished(ctx, places)
	if err != nil {
		return nil, err
	}
	got, err := q.putBack(ctx, l, epoch, token, lost, &placer{})
	if err != nil {
		return nil, err
	}
	for i := range lost {
		answers[places[lost[i].Seq]] = got[i]
	}
	return answers, nil
}

// unfinished reads the items that have not ended. Their numbers lie close together, because one push gave them.
func (l *queueLine) unfinished(ctx context.Context, seqs map[int64]int) ([]item.Record, error) {
	wanted := slices.Sorted(maps.Keys(seqs))
	var found []item.Record
	for len(wanted) > 0 {
		page, err := l.o.Ledger.UnfinishedItems(ctx, l.name, wanted[0]-1, restorePage)
		if err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		for i := range page {
			if _, ok := seqs[page[i].Seq]; ok {
				found = append(found, page[i])
			}
		}
		if len(page) < restorePage {
			break
		}
		last := page[len(page)-1].Seq
		wanted = slices.DeleteFunc(wanted, func(seq int64) bool { return seq <= last })
	}
	return found, nil
}

// missing begins a repair. missing returns the position of the outbox, the token of the repair, and the places of the
// missing records.
func (l *queueLine) missing(ctx context.Context, epoch string, records []item.Record) (position int64, token string, places []int, err error) {
	args := append(make([]any, 0, 3+2*len(records)), epoch, l.now(), len(records))
	for i := range records {
		args = append(args, records[i].ID)
	}
	for i := range records {
		args = append(args, records[i].Seq)
	}
	reply, err := l.run(ctx, l.scripts.repair, l.all, args...)
	if err != nil {
		return 0, "", nil, err
	}
	p := replyReader{reply: reply}
	position, token = p.count(), p.text()
	for p.at < len(reply) {
		place := p.number()
		if place < 1 || place > int64(len(records)) {
			return 0, "", nil, errAnswer
		}
		places = append(places, int(place-1))
	}
	return position, token, places, p.err
}

// repairThose repairs the items of a push that enqueue.lua left to repairs.
func (q rebuilder) repairThose(ctx context.Context, l *queueLine, epoch string, e *itemEntry) error {
	var records []item.Record
	var places []int
	for i, answer := range e.answers {
		if answer == enqueuedRepaired {
			records, places = append(records, e.records[i]), append(places, i)
		}
	}
	if len(records) == 0 {
		return nil
	}
	answers, err := q.repair(ctx, l, epoch, records)
	if err != nil {
		return err
	}
	for i, place := range places {
		if answers[i] == enqueuedExists && records[i].Bucket != "" {
			if answers[i], err = l.refusedFor(ctx, &records[i]); err != nil {
				return err
			}
		}
		e.answers[place] = answers[i]
	}
	return nil
}

// refusedFor returns the id of the item that holds the dedupe key for which r was refused. refusedFor returns
// enqueuedExists if r was not refused. refusedFor asks the ledger, because another node may have written the queue back
// and refused the item.
func (l *queueLine) refusedFor(ctx context.Context, r *item.Record) (string, error) {
	found, trace, err := l.o.Ledger.ItemTrace(ctx, l.name, r.ID)
	if err != nil {
		return "", fmt.Errorf("ledger: %w", err)
	}
	if found.Seq != r.Seq || found.State != item.Refused || len(trace) == 0 {
		return enqueuedExists, nil
	}
	return trace[len(trace)-1].Note, nil
}

// awaitRead waits until the ledger has all moves up to that answer of get.lua.
func (l *queueLine) awaitRead(ctx context.Context, epoch string, answer []string) error {
	where, err := counts(answer[:1])
	if err != nil {
		return err
	}
	return l.awaitApplied(ctx, epoch, where[0])
}

// awaitApplied waits until the ledger has all moves up to the position. Any node may drain them.
func (l *queueLine) awaitApplied(ctx context.Context, epoch string, position int64) error {
	for {
		applied, err := l.o.Ledger.AppliedMoves(ctx, l.name, epoch)
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		if applied >= position {
			return nil
		}
		pause := time.NewTimer(drainEvery / 4)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}
