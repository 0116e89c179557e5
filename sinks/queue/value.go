package queue

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/item"
)

// The value of an item in Redis is its head, a newline, and its payload as it was pushed. A large payload lies apart, in the hash payloads, so
// that what changes the head does not move it; behind the newline then stand its length and an @, with which no JSON value ends. The head
// has 16 fields with a space between them; - is an empty text, times are µs since 1970 and 0 = none. What changes with every lease stands first, so that
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
//	order     decides inside the priority, thousandths; - is none
//	place     when the item became ready, made distinct from the places of others. An item keeps it until a lease has ended with a nack or a
//	          suspend. 0 = none, or of a ready item without order and assignee, its score in the ready list
//
// Behind them stands a + of a leased item that takes something else when it waits again: the hash news has it, as settingText writes it.
//
// scripts/common.lua reads and writes the same.
const (
	headFields = 16
	newsMark   = " +"
)

// largePayload is how many bytes a payload has at least that lies apart. To lie apart costs 160 bytes of memory, and a push and a lease some
// microseconds of Redis more; to stand in the value costs a copy with each change of the head. An item that is pushed, leased and acked once is level at
// 2 to 4 KB, one whose head changes more often below that. The bytes that one call moves inside Redis are bounded by this number, so it is the lower one.
const largePayload = 1 << 10

// apartMark is the last byte of a value whose payload lies apart.
const apartMark = '@'

var errValue = errors.New("queue: an item in Redis is not as the scripts write it")

// liesApart tells whether a payload does not stand in the value of its item.
func liesApart(payload []byte) bool {
	return len(payload) >= largePayload || bytes.HasSuffix(payload, []byte{apartMark})
}

// parseValue reads the value of the item with that id, which has its payload.
func parseValue(id, value string) (item.Item, error) {
	head, payload, found := strings.Cut(value, "\n")
	head, news := strings.CutSuffix(head, newsMark)
	fields := strings.Split(head, " ")
	if !found || len(fields) != headFields || strings.HasSuffix(payload, string(apartMark)) {
		return item.Item{}, fmt.Errorf("%w: item %s", errValue, id)
	}
	var numbers [headFields]int64
	for i := range fields {
		switch i {
		case 0, 4, 8, 9, 10: // texts
			continue
		case 14:
			if fields[i] == "-" {
				continue
			}
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
		Order: item.ServiceOrder{Given: fields[14] != "-", Thousandths: numbers[14]},
		News:  news,
	}, nil
}

// parseHead reads the value of an item without its payload.
func parseHead(id, head string) (item.Item, error) { return parseValue(id, head+"\n") }

// appendValue appends the value of a record, as enqueue.lua puts it into Redis. A payload that lies apart is not in it. Place 0 is for
// enqueue.lua to give.
func appendValue(b []byte, r *item.Record, place int64) []byte {
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
	b = appendNumbers(b, int64(r.Priority), toMicro(r.Ready), toMicro(r.Created))
	if r.Order.Given {
		b = appendNumbers(b, r.Order.Thousandths)
	} else {
		b = append(b, " -"...)
	}
	b = appendNumbers(b, place)
	b = append(b, '\n')
	if liesApart(r.Payload) {
		return append(strconv.AppendInt(b, int64(len(r.Payload)), 10), apartMark)
	}
	return append(b, r.Payload...)
}

func appendNumbers(b []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		b = strconv.AppendInt(append(b, ' '), n, 10)
	}
	return b
}

// settingText is what the operation set gives an item, as work.lua has it: "priority order source apart", newline, payload.
func settingText(s *item.Setting) string {
	order, apart := "=", "-"
	if s.Order != nil {
		order = "-"
		if s.Order.Given {
			order = strconv.FormatInt(s.Order.Thousandths, 10)
		}
	}
	if liesApart(s.Payload) {
		apart = string(apartMark)
	}
	return fmt.Sprintf("%d %s %d %s\n%s", s.Priority, order, s.Source, apart, s.Payload)
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

// An entry of the outbox is what one call of a script has moved: a line "<when, µs> <node> <number>", then a line of each move,
//
//	seq n from to attempt failures suspends due assignee by note
//
// with the revision of a move that has one behind it, as item.Revision.Text has it, and, behind those of an order, a line of that: see order.go,
// with how many moves the entries before it had (which step.lua wants to know), the letters of the states, times in µs, - for an empty text, and who did it and the note escaped as in a query.
const moveFields = 11

var errEntry = errors.New("queue: an entry of the outbox is not as the scripts write it")

// parseEntry reads the entry at the position.
func parseEntry(position int64, entry string) (item.Moves, error) {
	head, rest, _ := strings.Cut(entry, "\n")
	fields := strings.Split(head, " ")
	us, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil || us <= 0 || len(fields) != 3 {
		return item.Moves{}, fmt.Errorf("%w: it begins with %.80q", errEntry, head)
	}
	at, node := fromMicro(us), fromDash(fields[1])
	moves := item.Moves{Position: position, List: make([]item.Move, 0, strings.Count(rest, "\n")+1)}
	for line := range strings.SplitSeq(rest, "\n") {
		if strings.HasPrefix(line, orderMark) {
			c, err := parseChange(line, at)
			if err != nil {
				return item.Moves{}, err
			}
			moves.Changes = append(moves.Changes, c)
			continue
		}
		m, err := parseMove(line)
		if err != nil {
			return item.Moves{}, err
		}
		m.At, m.Node = at, node
		moves.List = append(moves.List, m)
	}
	return moves, nil
}

func parseMove(line string) (item.Move, error) {
	var f [moveFields]string
	var revision *item.Revision
	rest, more := line, true
	for i := range f {
		if !more {
			return item.Move{}, fmt.Errorf("%w: a move is %.200q", errEntry, line)
		}
		f[i], rest, more = strings.Cut(rest, " ")
	}
	if more {
		var err error
		if revision, err = item.ParseRevision(rest); err != nil {
			return item.Move{}, fmt.Errorf("%w: a move is %.200q: %w", errEntry, line, err)
		}
	}
	from, badFrom := item.FromLetter(f[2])
	to, badTo := item.FromLetter(f[3])
	by, badBy := url.QueryUnescape(fromDash(f[9]))
	note, badNote := url.QueryUnescape(fromDash(f[10]))
	if to == "" || badFrom != nil || badTo != nil || badBy != nil || badNote != nil {
		return item.Move{}, fmt.Errorf("%w: a move is %.200q", errEntry, line)
	}
	n := numberReader{line: line}
	m := item.Move{
		Seq: n.read(f[0]), N: n.read(f[1]), From: from, To: to,
		Attempt: int(n.read(f[4])), Failures: int(n.read(f[5])), Suspends: int(n.read(f[6])), Due: n.time(f[7]),
		Assignee: fromDash(f[8]), By: by, Note: note, Revision: revision,
	}
	return m, n.err
}

// numberReader reads the numbers of a move, and keeps the first error.
type numberReader struct {
	line string
	err  error
}

func (n *numberReader) read(s string) int64 {
	v, err := strconv.ParseInt(s, 10, 64)
	if (err != nil || v < 0) && n.err == nil {
		n.err = fmt.Errorf("%w: a move is %.200q: %q is no count", errEntry, n.line, s)
	}
	return v
}

func (n *numberReader) time(s string) time.Time { return fromMicro(n.read(s)) }

// moveLines are the lines of moves in an entry, as the scripts write them.
func moveLines(moves []item.Move) string {
	var b strings.Builder
	for i, m := range moves {
		if i > 0 {
			b.WriteByte('\n')
		}
		from := "-"
		if m.From != "" {
			from = m.From.Letter()
		}
		fmt.Fprintf(&b, "%d %d %s %s %d %d %d %d %s %s %s", m.Seq, m.N, from, m.To.Letter(), m.Attempt, m.Failures, m.Suspends,
			toMicro(m.Due), orDash(m.Assignee), escape(m.By), escape(m.Note))
		if m.Revision != nil {
			b.WriteByte(' ')
			b.WriteString(m.Revision.Text())
		}
	}
	return b.String()
}

// escape writes who did something, or why, as an entry has it.
func escape(s string) string {
	if s == "-" {
		return "%2D" // what a dash alone means is an empty text
	}
	return orDash(url.QueryEscape(s))
}
