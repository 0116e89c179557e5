package queue

import (
	"context"
	"time"

	"tallyman/sinks/queue/item"
)

const (
	enqueueFlights = 2
	enqueueItems   = 1000    // in one call of enqueue.lua
	enqueueBytes   = 1 << 20 // about
)

// keepWindow is how long the entry of a window that has ended is kept, for items that come late.
const keepWindow = 24 * time.Hour

// The tokens of enqueue.lua that are no repair's.
const (
	tokenPush    = ""
	tokenRebuild = "*"
)

// The answers of enqueue.lua that are no id.
const (
	enqueuedNew      = ""
	enqueuedExists   = "="
	enqueuedRepaired = "?" // a repair may have put it in: see repair.go
)

// enqueued is what a push wants to have in Redis.
type enqueued struct {
	epoch   string
	records []item.Record
	bytes   int
	answers []string // of enqueue.lua
}

// newEnqueues lets pushes that come at the same time share calls of enqueue.lua.
func (l *line) newEnqueues() *combiner[*enqueued] {
	return &combiner[*enqueued]{
		flights: enqueueFlights,
		fits: func(parts []*part[*enqueued], next *enqueued) bool {
			items, bytes := len(next.records), next.bytes
			for _, p := range parts {
				items += len(p.what.records)
				bytes += p.what.bytes
			}
			return next.epoch == parts[0].what.epoch && items <= enqueueItems && bytes <= enqueueBytes
		},
		call: func(ctx context.Context, _ int, parts []*part[*enqueued]) { l.enqueueAll(ctx, parts) },
	}
}

// enqueueAll makes a call for some pushes. It is repeated until it is answered or patience ends: what is in by then is
// called known, which a push that has just been recorded knows to be its own.
func (l *line) enqueueAll(ctx context.Context, parts []*part[*enqueued]) {
	records := parts[0].what.records
	if len(parts) > 1 {
		records = nil
		for _, p := range parts {
			records = append(records, p.what.records...)
		}
	}
	var answers []string
	err := l.insist(ctx, func(ctx context.Context) (err error) {
		answers, err = l.enqueue(ctx, parts[0].what.epoch, tokenPush, records)
		return err
	})
	for _, p := range parts {
		n := len(p.what.records)
		if p.err = err; err == nil {
			p.what.answers, answers = answers[:n:n], answers[n:]
		}
		p.answer()
	}
}

// enqueue puts items into Redis as they are recorded, in calls of a size that Redis is through with soon. It answers for each
// as enqueue.lua does.
func (l *line) enqueue(ctx context.Context, epoch, token string, records []item.Record) ([]string, error) {
	answers := make([]string, 0, len(records))
	for len(records) > 0 {
		n := chunk(records)
		reply, err := l.run(ctx, l.scripts.enqueue, l.all, l.enqueueArgs(epoch, token, records[:n])...)
		if err != nil {
			return nil, err
		}
		if len(reply) != n {
			return nil, errAnswer
		}
		p := replyReader{reply: reply}
		for range reply {
			answers = append(answers, p.text())
		}
		if p.err != nil {
			return nil, p.err
		}
		records = records[n:]
	}
	return answers, nil
}

// chunk is how many of the records go into one call.
func chunk(records []item.Record) int {
	n, bytes := 0, 0
	for n < len(records) && n < enqueueItems && (n == 0 || bytes+len(records[n].Payload) <= enqueueBytes) {
		bytes += len(records[n].Payload)
		n++
	}
	return n
}

func (l *line) enqueueArgs(epoch, token string, records []item.Record) []any {
	args := append(make([]any, 0, 6+3*len(records)), epoch, l.now(), l.keys.hints(), l.hint(), token, len(records))
	for i := range records {
		args = append(args, records[i].ID)
	}
	for i := range records {
		args = append(args, newValue(&records[i]))
	}
	for i := range records {
		args = append(args, dedupeArg(&records[i]))
	}
	return args
}

// dedupeArg is what enqueue.lua is told of an item's dedupe key.
func dedupeArg(r *item.Record) string {
	if r.Bucket == "" {
		return ""
	}
	keep := int64(0)
	if !r.Until.IsZero() {
		keep = r.Until.Add(keepWindow).UnixMicro()
	}
	b := append(make([]byte, 0, 96), r.Bucket...)
	return string(appendNumbers(b, toMicro(r.Until), keep, toMicro(r.Created)))
}
