package queue

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/item"
)

// An entry of the outbox is what one call of a script has moved: a line "<when, µs> <node> <number>", then a line of each move,
//
//	seq n from to attempt failures suspends due assignee by note
//
// and, behind those of an order, a line of that: see order.go,
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
	rest, more := line, true
	for i := range f {
		if !more {
			return item.Move{}, fmt.Errorf("%w: a move is %.200q", errEntry, line)
		}
		f[i], rest, more = strings.Cut(rest, " ")
	}
	if more {
		return item.Move{}, fmt.Errorf("%w: a move is %.200q", errEntry, line)
	}
	from, badFrom := item.FromLetter(f[2])
	to, badTo := item.FromLetter(f[3])
	by, badBy := url.QueryUnescape(fromDash(f[9]))
	note, badNote := url.QueryUnescape(fromDash(f[10]))
	if to == "" || badFrom != nil || badTo != nil || badBy != nil || badNote != nil {
		return item.Move{}, fmt.Errorf("%w: a move is %.200q", errEntry, line)
	}
	n := numbers{line: line}
	m := item.Move{
		Seq: n.read(f[0]), N: n.read(f[1]), From: from, To: to,
		Attempt: int(n.read(f[4])), Failures: int(n.read(f[5])), Suspends: int(n.read(f[6])), Due: n.time(f[7]),
		Assignee: fromDash(f[8]), By: by, Note: note,
	}
	return m, n.err
}

// numbers reads the numbers of a move, and keeps the first error.
type numbers struct {
	line string
	err  error
}

func (n *numbers) read(s string) int64 {
	v, err := strconv.ParseInt(s, 10, 64)
	if (err != nil || v < 0) && n.err == nil {
		n.err = fmt.Errorf("%w: a move is %.200q: %q is no count", errEntry, n.line, s)
	}
	return v
}

func (n *numbers) time(s string) time.Time { return fromMicro(n.read(s)) }

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
