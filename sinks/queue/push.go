package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tallyman/internal/item"
	"tallyman/sinks/recovery"
)

// Push puts items into the queue, at most item.MaxBatch. Each item is in the ledger before Push returns.
//
// After an error it is unknown which items are in. A caller that gave ids or dedupe keys may push the same items again.
// The caller must not change the payloads after the call, because after an error they may still be in use.
//
// The errors are item.InvalidError, recovery.ErrUnavailable, the ledger's and the context's.
func (q *Queue) Push(ctx context.Context, test bool, by string, items []item.New) ([]item.PushResult, error) {
	_, results, err := q.push(ctx, q.line(test), by, items)
	return results, err
}

// push is Push. push also returns the records of the items in the ledger.
func (q *Queue) push(ctx context.Context, l *queueLine, by string, items []item.New) ([]item.Record, []item.PushResult, error) {
	records, err := l.newRecords(by, items)
	if err != nil || len(items) == 0 {
		return nil, nil, err
	}
	if l.o.Ledger != nil {
		// Record nothing while Redis is unavailable, and nothing before the ledger is known to be the same one as
		// before.
		err := q.keeper.Serve(ctx, q.keeper.Compared)
		if err != nil {
			return nil, nil, err
		}
	}
	if err := q.awaitEnds(ctx, l, items); err != nil {
		return nil, nil, err
	}
	p := &pushRecords{records: records, known: make([]item.PushAnswer, len(records)), given: make([]bool, len(records))}
	if l.o.Ledger == nil {
		for i := range items {
			p.known[i].New, p.given[i] = true, items[i].ID != ""
		}
	} else if err := l.commits.Do(ctx, p); err != nil {
		return nil, nil, err
	}
	answers, err := q.enter(ctx, l, p)
	if err != nil {
		return nil, nil, err
	}
	return records, results(p, answers), nil
}

// awaitEnds waits until the ledger knows which items have ended, if the push asks for an item again.
func (q *Queue) awaitEnds(ctx context.Context, l *queueLine, items []item.New) error {
	if l.o.Ledger == nil || !slices.ContainsFunc(items, func(n item.New) bool { return n.Again }) {
		return nil
	}
	return q.awaitLedger(ctx, l)
}

// awaitLedger waits until the ledger has all moves up to now. since has the epochs in which the caller has made moves.
// awaitLedger fails if one of these is not the present epoch of Redis: then moves of that epoch may be lost.
func (q *Queue) awaitLedger(ctx context.Context, l *queueLine, since ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout,
		fmt.Errorf("the last moves are not in the ledger after %s", callTimeout))
	defer cancel()
	answer, epoch, err := q.read(ctx, l, q.reads.get, "")
	switch {
	case err != nil:
	case slices.ContainsFunc(since, func(e string) bool { return e != epoch }):
		return errors.New("queue: Redis was lost during the call, and the last moves may be lost with it")
	default:
		err = l.awaitRead(ctx, epoch, answer)
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("ledger: %w", context.Cause(ctx))
	}
	return err
}

// enter puts the recorded items into Redis, except items that have ended. For an item that has ended, the answer is
// that the item exists.
func (q *Queue) enter(ctx context.Context, l *queueLine, p *pushRecords) ([]string, error) {
	answers := make([]string, len(p.records))
	for i, k := range p.known {
		p.records[i].Seq, p.records[i].Moves, p.records[i].Attempt = k.Seq, k.Moves, k.Attempt
		switch {
		case k.New:
		case k.Warehouse != p.records[i].Warehouse:
			answers[i] = enqueuedElsewhere
		case k.State.Ended():
			answers[i] = enqueuedExists
		}
	}
	fresh := p.those(func(i int) bool { return p.known[i].New })
	old := p.those(func(i int) bool { return !p.known[i].New && answers[i] == enqueuedNew })
	if len(fresh.at)+len(old.at) == 0 {
		return answers, nil
	}
	first := &itemEntry{records: fresh.records}
	err := q.keeper.Serve(ctx, func(ctx context.Context, g *recovery.Generation) error {
		err := q.keeper.Compared(ctx, g)
		if err != nil {
			return err
		}
		got, err := q.enqueueNew(ctx, l, g.Epoch, first)
		if err == nil {
			fresh.put(answers, got)
			if got, err = (rebuilder{q}).repair(ctx, l, g.Epoch, old.records); err == nil {
				old.put(answers, got)
			}
		}
		return q.lost(g, err)
	})
	return answers, err
}

// recordPicks are some of the records of a push, with their places in it.
type recordPicks struct {
	at      []int
	records []item.Record
}

// those picks the records for which wanted returns true. If all records are picked, which is usual for new items,
// nothing is copied.
func (p *pushRecords) those(wanted func(i int) bool) recordPicks {
	var some recordPicks
	for i := range p.known {
		if wanted(i) {
			some.at = append(some.at, i)
		}
	}
	if len(some.at) == len(p.records) {
		some.records = p.records
		return some
	}
	for _, i := range some.at {
		some.records = append(some.records, p.records[i])
	}
	return some
}

func (p *recordPicks) put(answers, got []string) {
	for i, at := range p.at {
		answers[at] = got[i]
	}
}

// itemEntry carries new items into Redis. The items may need several tries, also across epochs.
type itemEntry struct {
	records []item.Record
	tried   string   // the epoch of the last try; empty before the first
	answers []string // of enqueue.lua in that epoch; nil means unknown
}

// enqueueNew puts new items into Redis, repairs where that is needed, and ends refused items in the ledger. After a
// failed try an item may be in Redis, leased or even finished. Only the ledger can tell, so from the second try on a
// repair decides.
func (q *Queue) enqueueNew(ctx context.Context, l *queueLine, epoch string, n *itemEntry) ([]string, error) {
	if len(n.records) == 0 {
		return nil, nil
	}
	if n.tried == "" || l.o.Ledger == nil {
		n.tried = epoch
		e := &enqueueRequest{epoch: epoch, records: n.records}
		for i := range n.records {
			e.bytes += len(n.records[i].Payload)
		}
		if err := l.enqueues.Do(ctx, e); err != nil {
			return nil, l.because(err)
		}
		if n.answers = e.answers; l.o.Ledger == nil {
			return n.answers, nil
		}
	}
	n.doubt(epoch)
	if err := l.refuse(ctx, n.records, n.answers); err != nil {
		return nil, err
	}
	return n.answers, (rebuilder{q}).repairThose(ctx, l, epoch, n)
}

// doubt marks the items for repair if the answers of an earlier try are unknown, or belong to an epoch that is over.
// Refused items stay refused.
func (n *itemEntry) doubt(epoch string) {
	if n.answers != nil && n.tried == epoch {
		return
	}
	if n.answers == nil {
		n.answers = make([]string, len(n.records))
	}
	for i, answer := range n.answers {
		if !isHolder(answer) {
			n.answers[i] = enqueuedRepaired
		}
	}
	n.tried = epoch
}

// refuse ends in the ledger the items whose dedupe keys other items hold.
func (l *queueLine) refuse(ctx context.Context, records []item.Record, answers []string) error {
	var refused []item.Refusal
	for i, of := range answers {
		if isHolder(of) {
			refused = append(refused, item.Refusal{Seq: records[i].Seq, Of: of, At: time.Now(), Node: l.o.Node})
		}
	}
	if len(refused) == 0 {
		return nil
	}
	if err := l.o.Ledger.RefuseItems(ctx, l.name, refused); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// isHolder tells whether an answer of enqueue.lua is the id of an item that holds the dedupe key.
func isHolder(answer string) bool {
	return answer != enqueuedNew && answer != enqueuedExists && answer != enqueuedRepaired && answer != enqueuedElsewhere
}

// results makes the answer to the caller. An item that is new in the ledger counts as pushed by this call, even if
// another call put the item into Redis. Without a ledger, an item with an id from this push counts as pushed, too.
func results(p *pushRecords, answers []string) []item.PushResult {
	out := make([]item.PushResult, len(answers))
	for i, answer := range answers {
		out[i] = item.PushResult{ID: p.records[i].ID, Outcome: item.Pushed}
		switch {
		case isHolder(answer) && answer != out[i].ID:
			out[i].Outcome, out[i].Of = item.Duplicate, answer
		case answer == enqueuedElsewhere || !p.known[i].New && p.known[i].Warehouse != p.records[i].Warehouse:
			out[i].Outcome = item.IDTaken
		case !p.known[i].New || answer != enqueuedNew && p.given[i]:
			out[i].Outcome = item.Exists
		}
	}
	return out
}

// newRecords checks the items and completes them: ids, times, states and dedupe keys.
func (l *queueLine) newRecords(by string, items []item.New) ([]item.Record, error) {
	if len(items) > item.MaxBatch {
		return nil, invalid("items", -1, "has %d items; at most %d are allowed", len(items), item.MaxBatch)
	}
	by, now := cutNote(by), l.time()
	names := newIDs{at: time.Now()}
	records := make([]item.Record, len(items))
	for i := range items {
		r := &records[i]
		r.New = items[i]
		if r.Priority == 0 {
			r.Priority = item.DefaultPriority
		}
		if err := checkNew(i, &r.New); err != nil {
			return nil, err
		}
		if r.ID == "" {
			r.ID = names.next(len(items) - i)
		}
		if r.Created.IsZero() {
			r.Created = now
		}
		r.Created = r.Created.Truncate(time.Microsecond).UTC()
		r.By, r.Node = by, l.o.Node
		r.State, r.Ready = item.Ready, r.Created.Add(r.Delay).Truncate(time.Microsecond)
		if r.Delay > 0 {
			r.State, r.Due = item.Delayed, r.Ready
		}
		if r.DedupeKey == "" && l.o.Dedupe.Content {
			r.DedupeKey = contentKey(r.Priority, r.Payload)
		}
		if r.DedupeKey != "" {
			r.Bucket, r.Until = l.o.Dedupe.bucket(r.Warehouse, r.DedupeKey, r.Created, l.o.Timezone)
		}
	}
	return records, nil
}
