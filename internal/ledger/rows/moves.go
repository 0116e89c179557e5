package rows

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tallyman/internal/item"
)

// The moves of an item that one call records are one text, a line for each, of fields with a space between them:
//
//	n at from to attempt failures suspends due assignee by node note
//
// States are letters, times µs since 1970, the last four escaped as in a URL. - is an empty text.
const moveFields = 12

// errMove says that a text is not one that appendMove has written.
var errMove = errors.New("ledger: not the trace of an item")

// appendMove adds the line of a move.
func appendMove(dst []byte, m *item.Move) []byte {
	number := func(n int64) { dst = append(strconv.AppendInt(dst, n, 10), ' ') }
	number(m.N)
	number(Micros(m.At))
	dst = append(append(dst, m.From.Letter()...), ' ')
	dst = append(append(dst, m.To.Letter()...), ' ')
	number(int64(m.Attempt))
	number(int64(m.Failures))
	number(int64(m.Suspends))
	number(Micros(m.Due))
	for _, text := range []string{m.Assignee, m.By, m.Node, m.Note} {
		dst = append(append(dst, escaped(text)...), ' ')
	}
	dst[len(dst)-1] = '\n'
	return dst
}

// escaped is the text without spaces, and other than - unless it is empty.
func escaped(text string) string {
	switch text {
	case "":
		return "-"
	case "-":
		return "%2D"
	default:
		return url.QueryEscape(text)
	}
}

// ParseMoves adds the moves of a text.
func ParseMoves(dst []item.Move, seq int64, text string) ([]item.Move, error) {
	for line := range strings.Lines(text) {
		m, err := parseMove(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return dst, fmt.Errorf("%w: item %d: %w", errMove, seq, err)
		}
		m.Seq = seq
		dst = append(dst, m)
	}
	return dst, nil
}

func parseMove(line string) (item.Move, error) {
	fields := strings.Split(line, " ")
	if len(fields) != moveFields {
		return item.Move{}, fmt.Errorf("%d fields", len(fields))
	}
	var numbers [6]int64
	for i, at := range []int{0, 1, 4, 5, 6, 7} {
		n, err := strconv.ParseInt(fields[at], 10, 64)
		if err != nil {
			return item.Move{}, err
		}
		numbers[i] = n
	}
	from, err := item.FromLetter(fields[2])
	if err != nil {
		return item.Move{}, err
	}
	to, err := item.FromLetter(fields[3])
	if err != nil {
		return item.Move{}, err
	}
	texts := fields[8:]
	for i, text := range texts {
		if text == "-" {
			texts[i] = ""
			continue
		}
		if texts[i], err = url.QueryUnescape(text); err != nil {
			return item.Move{}, err
		}
	}
	return item.Move{
		N: numbers[0], At: Time(numbers[1]), From: from, To: to, Attempt: int(numbers[2]), Failures: int(numbers[3]),
		Suspends: int(numbers[4]), Due: Time(numbers[5]), Assignee: texts[0], By: texts[1], Node: texts[2], Note: texts[3],
	}, nil
}

// SortMoves puts the moves of one item in order.
func SortMoves(moves []item.Move) {
	slices.SortStableFunc(moves, func(a, b item.Move) int { return cmp.Or(cmp.Compare(a.N, b.N), a.At.Compare(b.At)) })
}
