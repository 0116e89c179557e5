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
	enqueueBytes   = 1 << 20 // in one call, about
)

// keepWindow is how long the entry of a window is kept after the window has ended, for items that arrive late.
const keepWindow = 24 * time.Hour

// The tokens of enqueue.lua that belong to no repair.
const (
	tokenPush    = ""
	tokenRebuild = "*"
)

// The answers of enqueue.lua that are not an id.
const (
	enqueuedNew       = ""
	enqueuedExists    = "="
	enqueuedElsewhere = "!" // an item of another warehouse has this id
	enqueuedRepaired  = "?" // a repair may have put the item in: see repair.go
)

// allIn is the only value in the answer of enqueue.lua if every item is new.
const allIn = int64(1)

// enqueueRequest is one push on its way to Redis.
type enqueueRequest struct {
	epoch   string
	records []item.Record
	bytes   int
	answers []string // of enqueue.lua, one for each record
}

// newEnqueues lets concurrent pushes share calls of enqueue.lua.
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

// enqueueAll makes one call of enqueue.lua for several pushes. enqueueAll repeats the call until it is answered or
// callTimeout ends. A repeat does no harm: enqueue.lua recognizes the call, and does not bring back items that were
// worked on in between.
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

// references iterates over records without copying them.
func references(records []item.Record) iter.Seq[*item.Record] {
	return func(yield func(*item.Record) bool) {
		for i := range records {
			if !yield(&records[i]) {
				return
			}
		}
	}
}

// placer gives restored items about the places that they had before. The place is the time when the item became ready.
// Items with the same time get consecutive places.
type placer struct{ ready, last int64 }

func (p *placer) next(r *item.Record) int64 {
	ready := toMicro(r.Ready)
	if p.last++; ready != p.ready {
		p.ready, p.last = ready, ready
	}
	return p.last
}

// enqueue puts lost items back into Redis. The answers are those of enqueue.lua, one for each item.
func (l *queueLine) enqueue(ctx context.Context, epoch, token string, records []item.Record, p *placer) ([]string, error) {
	c := enqueueCall{epoch: epoch, token: token, places: p}
	if token != tokenPush && token != tokenRebuild {
		c.caller = "repair" // only the newest repair gets past the token, so one record is enough
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

// enqueueCall has the arguments of a call of enqueue.lua besides its items.
type enqueueCall struct {
	epoch, token string
	// caller names the record of the answer. Empty means no record: nobody works on the items while the call is
	// repeated.
	caller string
	name   string  // of the call, in the record
	places *placer // places of restored items; nil means the items are new
}

// enqueueOnce makes one call of enqueue.lua.
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

// inChunks calls f with one part of the records after the other. A part is small enough that Redis is not blocked for
// long.
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

// chunk returns how many of the records fit into one call.
func chunk(records []*item.Record) int {
	n, bytes := 0, 0
	for n < len(records) && n < enqueueItems && (n == 0 || bytes+len(records[n].Payload) <= enqueueBytes) {
		bytes += len(records[n].Payload)
		n++
	}
	return n
}

// enqueueArgs writes the arguments of enqueue.lua. There may be thousands, so they are passed by reference, and each
// value is only built when the client sends it.
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

// warehousesOf writes the warehouses of the records for enqueue.lua: "warehouse number ", for each sequence of records
// of one warehouse.
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

// valueArg is the value of a record, built when the client sends it.
type valueArg struct {
	record *item.Record
	place  int64
	buffer *[]byte // shared by all values of a call: the client sends one value before it asks for the next
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (v *valueArg) MarshalBinary() ([]byte, error) {
	*v.buffer = appendValue((*v.buffer)[:0], v.record, v.place)
	return *v.buffer, nil
}

// kindOf returns the letter that tells enqueue.lua where the item belongs.
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

// untilDone is the window of a dedupe key that ends with its item.
const untilDone = "0 0 0"

// windowArg returns the times of an item's dedupe key, as enqueue.lua takes them.
func windowArg(r *item.Record) any {
	if r.Until.IsZero() {
		return untilDone
	}
	b := make([]byte, 0, 60)
	return appendNumbers(b, toMicro(r.Until), toMicro(r.Until.Add(keepWindow)), toMicro(r.Created))[1:]
}
