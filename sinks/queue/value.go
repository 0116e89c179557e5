package queue

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/item"
)

// The value of an item in Redis is its head, a newline, and its payload as it was pushed. The head has 15 fields with a space
// between them; - is an empty text, times are µs since 1970 and 0 = none. What changes with every lease stands first, so that
// the scripts need not look at the rest:
//
//	state     a letter: see item.State.Letter
//	attempt   moves     due
//	worker    who has the lease: see item.Caller.Name
//	failures  suspends
//	seq       the ledger's number, 0 = none
//	assignee  who alone gets it
//	warehouse escaped as in a URL's query; = is none
//	bucket    of its dedupe key
//	priority  1 … 5
//	ready     created
//	place     of a ready item with an assignee: its number in the zset assigned; else 0
//
// scripts/common.lua reads and writes the same.
const headFields = 15

var errValue = errors.New("queue: an item in Redis is not as the scripts write it")

// parseValue reads the value of the item with that id.
func parseValue(id, value string) (item.Item, error) {
	head, payload, found := strings.Cut(value, "\n")
	fields := strings.Split(head, " ")
	if !found || len(fields) != headFields {
		return item.Item{}, fmt.Errorf("%w: item %s", errValue, id)
	}
	var numbers [headFields]int64
	for i := range fields {
		switch i {
		case 0, 4, 8, 9, 10: // texts
			continue
		}
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return item.Item{}, fmt.Errorf("%w: item %s: %w", errValue, id, err)
		}
		numbers[i] = n
	}
	state, err := item.FromLetter(fields[0])
	warehouse, badName := readWarehouse(fields[9])
	if err := errors.Join(err, badName); err != nil {
		return item.Item{}, fmt.Errorf("%w: item %s: %w", errValue, id, err)
	}
	return item.Item{
		ID: id, Warehouse: warehouse, State: state, Payload: []byte(payload),
		Attempt: int(numbers[1]), Moves: numbers[2], Due: fromMicro(numbers[3]), Worker: fromDash(fields[4]),
		Failures: int(numbers[5]), Suspends: int(numbers[6]), Seq: numbers[7], Assignee: fromDash(fields[8]),
		Bucket: fromDash(fields[10]), Priority: int(numbers[11]), Ready: fromMicro(numbers[12]), Created: fromMicro(numbers[13]),
	}, nil
}

// appendValue appends the value of a record, as enqueue.lua puts it into Redis.
func appendValue(b []byte, r *item.Record) []byte {
	b = append(b, r.State.Letter()...)
	b = appendNumbers(b, int64(r.Attempt), r.Moves, toMicro(r.Due))
	b = append(b, " -"...)
	b = appendNumbers(b, int64(r.Failures), int64(r.Suspends), r.Seq)
	b = append(b, ' ')
	b = append(b, orDash(r.Assignee)...)
	b = append(b, ' ')
	b = append(b, warehouseName(r.Warehouse)...)
	b = append(b, ' ')
	b = append(b, orDash(r.Bucket)...)
	b = appendNumbers(b, int64(r.Priority), toMicro(r.Ready), toMicro(r.Created), 0)
	b = append(b, '\n')
	return append(b, r.Payload...)
}

func appendNumbers(b []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		b = strconv.AppendInt(append(b, ' '), n, 10)
	}
	return b
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
