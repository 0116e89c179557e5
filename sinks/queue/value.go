package queue

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tallyman/sinks/queue/item"
)

// The value of an item in Redis is its head, a newline, and its payload as it was pushed. The head has 13 fields with a space
// between them, in this order; - is an empty text, times are µs since 1970 and 0 = none:
//
//	state     a letter: see item.State.Letter
//	priority  1 … 5
//	attempt   failures  suspends  moves
//	seq       the ledger's number, 0 = none
//	created   ready     due
//	worker    who has the lease
//	assignee  the only worker that gets it
//	bucket    of its dedupe key
//
// scripts/common.lua reads and writes the same.
const headFields = 13

var errValue = errors.New("queue: an item in Redis is not as the scripts write it")

// parseValue reads the value of the item with that id.
func parseValue(id, value string) (item.Item, error) {
	head, payload, found := strings.Cut(value, "\n")
	fields := strings.Split(head, " ")
	if !found || len(fields) != headFields {
		return item.Item{}, fmt.Errorf("%w: item %s", errValue, id)
	}
	var numbers [9]int64
	for i := range numbers {
		n, err := strconv.ParseInt(fields[i+1], 10, 64)
		if err != nil {
			return item.Item{}, fmt.Errorf("%w: item %s: %w", errValue, id, err)
		}
		numbers[i] = n
	}
	state, err := item.FromLetter(fields[0])
	if err != nil {
		return item.Item{}, fmt.Errorf("%w: item %s: %w", errValue, id, err)
	}
	return item.Item{
		ID: id, State: state, Priority: int(numbers[0]), Attempt: int(numbers[1]), Failures: int(numbers[2]), Suspends: int(numbers[3]),
		Moves: numbers[4], Seq: numbers[5], Created: fromMicro(numbers[6]), Ready: fromMicro(numbers[7]), Due: fromMicro(numbers[8]),
		Worker: fromDash(fields[10]), Assignee: fromDash(fields[11]), Bucket: fromDash(fields[12]),
		Payload: []byte(payload),
	}, nil
}

// newValue is the value of a record, as enqueue.lua puts it into Redis.
func newValue(r *item.Record) string {
	var b bytes.Buffer
	b.Grow(160 + len(r.Payload))
	fmt.Fprintf(&b, "%s %d %d %d %d %d %d %d %d %d - %s %s\n", r.State.Letter(), r.Priority, r.Attempt, r.Failures, r.Suspends,
		r.Moves, r.Seq, toMicro(r.Created), toMicro(r.Ready), toMicro(r.Due), orDash(r.Assignee), orDash(r.Bucket))
	b.Write(r.Payload)
	return b.String()
}

func fromMicro(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func toMicro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func fromDash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}
