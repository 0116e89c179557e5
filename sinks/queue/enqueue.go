package queue

import (
	"context"
	"iter"
	"math"
	"slices"
	"strconv"
	"time"

	"tallyman/internal/combine"
	"tallyman/internal/item"
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
	enqueuedNew       = ""
	enqueuedExists    = "="
	enqueuedElsewhere = "!" // an item of another warehouse has the id
	enqueuedRepaired  = "?" // a repair may have put it in: see repair.go
)

// allIn is the answer of enqueue.lua, alone, where each of the items is new.
const allIn = int64(1)

// enqueueRequest is what a push wants to have in Redis.
type enqueueRequest struct {
	epoch   string
	records []item.Record
	bytes   int
	answers []string // of enqueue.lua
}

// newEnqueues lets pushes that come at the same time share calls of enqueue.lua.
func (l *queueLine) newEnqueues() *combine.Calls[*enqueueRequest] {
	return &combine.Calls[*enqueueRequest]{
		Flights: enqueueFlights,
		Fits: func(parts []*combine.Part[*enqueueRequest], next *enqueueRequest) bool {
			items, bytes := len(next.records), next.bytes
			for _, p := range parts {
				items += len(p.What.records)
				bytes += p.What.bytes
			}
			return next.epoch == parts[0].What.epoch && items <= enqueueItems && bytes <= enqueueBytes
		},
		Call: l.enqueueAll,
	}
}

// enqueueAll makes a call for some pushes, until it is answered or callTimeout ends. To repeat it does no harm: enqueue.lua knows
// it, and brings nothing back that was worked on meanwhile.
func (l *queueLine) enqueueAll(ctx context.Context, flight int, parts []*combine.Part[*enqueueRequest]) {
	var records []*item.Record
	for _, p := range parts {
		records = slices.AppendSeq(records, references(p.What.records))
	}
	c := enqueueCall{epoch: parts[0].What.epoch, token: tokenPush, caller: "p/" + l.life + "/" + strconv.Itoa(flight)}
	answers := make([]string, 0, len(records))
	err := inChunks(records, func(some []*item.Record) error {
		c.name = l.nextCall()
		return l.insist(ctx, func(ctx context.Context) error {
			got, err := l.enqueueOnce(ctx, c, some)
			answers = append(answers, got...)
			return err
		})
	})
	for _, p := range parts {
		n := len(p.What.records)
		if p.Err = err; err == nil {
			p.What.answers, answers = answers[:n:n], answers[n:]
		}
		p.Answer()
	}
}

// references goes through records without copying them.
func references(records []item.Record) iter.Seq[*item.Record] {
	return func(yield func(*item.Record) bool) {
		for i := range records {
			if !yield(&records[i]) {
				return
			}
		}
	}
}

// placer gives items that come back the places that they had, about: each the time when it became ready, and those that became ready
// at the same time one behind the other.
type placer struct{ ready, last int64 }

func (p *placer) next(r *item.Record) int64 {
	ready := toMicro(r.Ready)
	if p.last++; ready != p.ready {
		p.ready, p.last = ready, ready
	}
	return p.last
}

// enqueue puts back into Redis what was lost there. It answers for each item as enqueue.lua does.
func (l *queueLine) enqueue(ctx context.Context, epoch, token string, records []item.Record, p *placer) ([]string, error) {
	c := enqueueCall{epoch: epoch, token: token, places: p}
	if token != tokenPush && token != tokenRebuild {
		c.caller = "repair" // the newest alone gets that far
	}
	answers, number := make([]string, 0, len(records)), 0
	err := inChunks(slices.Collect(references(records)), func(some []*item.Record) error {
		number++
		c.name = token + "/" + strconv.Itoa(number)
		got, err := l.enqueueOnce(ctx, c, some)
		answers = append(answers, got...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// enqueueCall is what a call of enqueue.lua says beyond its items.
type enqueueCall struct {
	epoch, token string
	caller       string  // has the record of the answer; "" = there is none: nobody works while the call is repeated
	name         string  // of the call, in the record
	places       *placer // of what comes back; nil = the items are new
}

// enqueueOnce is one call of enqueue.lua.
func (l *queueLine) enqueueOnce(ctx context.Context, c enqueueCall, records []*item.Record) ([]string, error) {
	keys := l.all
	if c.caller != "" {
		keys = append(slices.Clip(keys), l.keys.request(c.caller))
	}
	reply, err := l.run(ctx, l.scripts.enqueue, keys, l.enqueueArgs(c, records)...)
	switch {
	case err != nil:
		return nil, err
	case len(reply) == 1 && reply[0] == allIn:
		return make([]string, len(records)), nil
	case len(reply) != len(records):
		return nil, errAnswer
	}
	return texts(reply)
}

// inChunks calls f with some of the records after the others, so many at a time that Redis is through with them soon.
func inChunks(records []*item.Record, f func([]*item.Record) error) error {
	for len(records) > 0 {
		n := chunk(records)
		if err := f(records[:n]); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

// chunk is how many of the records go into one call.
func chunk(records []*item.Record) int {
	n, bytes := 0, 0
	for n < len(records) && n < enqueueItems && (n == 0 || bytes+len(records[n].Payload) <= enqueueBytes) {
		bytes += len(records[n].Payload)
		n++
	}
	return n
}

// enqueueArgs writes the arguments of enqueue.lua for the records. There are several for each of many items, so they are passed by
// reference, and a value is made when it is sent.
func (l *queueLine) enqueueArgs(c enqueueCall, records []*item.Record) []any {
	n, keyed, apart, lowest := len(records), 0, 0, int64(math.MaxInt64)
	kinds := make([]byte, n)
	values, buffer := make([]valueArg, n), []byte(nil)
	for i, r := range records {
		values[i] = valueArg{record: r, buffer: &buffer}
		if c.places != nil && r.State == item.Ready {
			values[i].place = c.places.next(r)
		}
		kinds[i] = kindOf(r, values[i].place)
		lowest = min(lowest, r.Seq)
		if r.Bucket != "" {
			keyed++
		}
		if liesApart(r.Payload) {
			apart++
		}
	}
	args := append(make([]any, 0, 11+2*n+2*keyed+apart), c.epoch, l.now(), l.keys.hints(), l.hint(), c.token, c.name,
		recordFor.Milliseconds(), lowest, kinds, warehousesOf(records), apart)
	for _, r := range records {
		args = append(args, &r.ID)
	}
	for i := range values {
		args = append(args, &values[i])
	}
	if keyed > 0 {
		times := make([]any, 0, keyed)
		for _, r := range records {
			if r.Bucket != "" {
				args = append(args, &r.Bucket)
				times = append(times, windowArg(r))
			}
		}
		args = append(args, times...)
	}
	if apart > 0 {
		for _, r := range records {
			if liesApart(r.Payload) {
				args = append(args, []byte(r.Payload))
			}
		}
	}
	return args
}

// warehousesOf tells enqueue.lua which warehouses the records belong to: "warehouse number", for each number of records in turn.
func warehousesOf(records []*item.Record) []byte {
	var b []byte
	for i := 0; i < len(records); {
		first := i
		for i < len(records) && records[i].Warehouse == records[first].Warehouse {
			i++
		}
		b = append(b, warehouseName(records[first].Warehouse)...)
		b = append(strconv.AppendInt(append(b, ' '), int64(i-first), 10), ' ')
	}
	return b
}

// valueArg is the value of a record.
type valueArg struct {
	record *item.Record
	place  int64
	buffer *[]byte // that all values of a call have, in turns: the client sends each before it asks for the next
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (v *valueArg) MarshalBinary() ([]byte, error) {
	*v.buffer = appendValue((*v.buffer)[:0], v.record, v.place)
	return *v.buffer, nil
}

// kindOf is the letter that tells enqueue.lua where the item is to stand.
func kindOf(r *item.Record, place int64) byte {
	switch next := r.State == item.Ready && r.Assignee == "" && !r.Order.Given && place == 0; {
	case next && r.Bucket != "":
		return "ABCDE"[r.Priority-1]
	case next:
		return "12345"[r.Priority-1]
	case r.Bucket != "":
		return '+'
	default:
		return '-'
	}
}

// untilDone says that a window ends with its item.
const untilDone = "0 0 0"

// windowArg says when the window of an item's dedupe key ends.
func windowArg(r *item.Record) any {
	if r.Until.IsZero() {
		return untilDone
	}
	b := make([]byte, 0, 60)
	return appendNumbers(b, toMicro(r.Until), toMicro(r.Until.Add(keepWindow)), toMicro(r.Created))[1:]
}
