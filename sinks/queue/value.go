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

// The value of an item in Redis is its head, a newline, and its payload as it was pushed. A large payload is kept
// apart, in the hash payloads, so that a change of the head does not copy the payload. Then the length of the payload
// and an @ follow the newline. No JSON value ends with @.
//
// The head has 16 fields, separated by a space. "-" is an empty text. Times are µs since 1970, 0 = none. The fields
// that change with every lease come first, so that the scripts need not read the others:
//
//	state     a letter: see item.State.Letter
//	attempt   moves     due
//	worker    holds the lease: see item.Caller.Name
//	failures  suspends
//	seq       the ledger's number, 0 = none
//	assignee  the only worker or subject that may lease the item
//	warehouse escaped as in a URL's query; = is none
//	bucket    of its dedupe key
//	priority  1 … 5
//	ready     created
//	order     the order of service inside the priority, in thousandths; - is none
//	place     when the item became ready, made distinct from the places of others. An item that is ready again after
//	          a lease keeps its place if the lease ended by itself, or with a release or an assign. 0 = none. A ready
//	          item without order and assignee may also have 0: then its score in the ready list is the place
//
// A + behind the head marks a leased item with news: a change that the item takes over when it waits again. The hash
// news has the change as settingText writes it.
//
// scripts/common.lua reads and writes the same format.
const (
	headFields = 16
	newsMark   = " +"
)

// largePayload is the size in bytes from which a payload is kept apart. A separate payload costs 160 bytes of memory,
// and some microseconds of Redis for a push and a lease. A payload in the value costs a copy with each change of the
// head. For an item that is pushed, leased and acked once, both ways cost the same at 2 to 4 KB. If the head changes
// more often, both ways cost the same at a smaller size. The lower number was chosen because it also bounds the bytes
// that one call copies in Redis.
const largePayload = 1 << 10

// apartMark is the last byte of a value whose payload is kept apart.
const apartMark = '@'

var errValue = errors.New("queue: an item in Redis is not as the scripts write it")

// liesApart tells whether a payload is kept apart from the value of its item.
func liesApart(payload []byte) bool {
	return len(payload) >= largePayload || bytes.HasSuffix(payload, []byte{apartMark})
}

// parseValue reads the value of an item. The value must contain the payload, not the mark.
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

// appendValue appends the value of a record, as enqueue.lua puts it into Redis. A payload that is kept apart is
// replaced by its mark. With place 0, enqueue.lua gives the item a place.
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

// settingText returns the argument of the operation set, as work.lua reads it: "priority order source apart", newline,
// payload.
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

// An entry of the outbox holds the moves of one call of a script. Its first line is "<when, µs> <node> <number>". The
// number is how many moves all entries before this one have; step.lua needs it. Then there is a line for each move:
//
//	seq n from to attempt failures suspends due assignee by note
//
// States are letters, times are µs, and - is an empty text. The fields by and note are escaped as in a URL's query. If
// the priority, order or payload of the item changed, too, the revision follows, as item.Revision.Text writes it. After
// the moves of an order there is a line with the order: see order.go.
const moveFields = 11

var errEntry = errors.New("queue: an entry of the outbox is not as the scripts write it")

// parseEntry reads the entry at a position of the outbox.
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

// numberReader reads the numbers of a move and keeps the first error.
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

// moveLines returns the lines of moves in an entry, as the scripts write them.
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

// escape returns the text of by or note as an entry has it.
func escape(s string) string {
	if s == "-" {
		return "%2D" // a dash alone would mean an empty text
	}
	return orDash(url.QueryEscape(s))
}
