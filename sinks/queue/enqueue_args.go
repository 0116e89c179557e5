package queue

import (
	"math"
	"strconv"

	"tallyman/internal/item"
)

// enqueueArgs writes the arguments of enqueue.lua for the records. There are several for each of many items, so they are passed by
// reference, and a value is made when it is sent.
func (l *line) enqueueArgs(c enqueueCall, records []*item.Record) []any {
	n, keyed, apart, lowest := len(records), 0, 0, int64(math.MaxInt64)
	kinds := make([]byte, n)
	for i, r := range records {
		kinds[i] = kindOf(r)
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
	values, buffer := make([]valueArg, n), []byte(nil)
	for i, r := range records {
		values[i] = valueArg{r, &buffer}
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
	buffer *[]byte // that all values of a call have, in turns: the client sends each before it asks for the next
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (v *valueArg) MarshalBinary() ([]byte, error) {
	*v.buffer = appendValue((*v.buffer)[:0], v.record)
	return *v.buffer, nil
}

// kindOf is the letter that tells enqueue.lua where the item is to stand.
func kindOf(r *item.Record) byte {
	switch anybody := r.State == item.Ready && r.Assignee == ""; {
	case anybody && r.Bucket != "":
		return "ABCDE"[r.Priority-1]
	case anybody:
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
