package api

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/item"
	"tallyman/internal/notice"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

// Params calls set with every parameter of a raw query that has a value; a parameter without one (limit=) counts
// as absent. It stops at the first problem.
func Params(raw string, set func(name, value string) *wire.Problem) *wire.Problem {
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := unescape(name)
		if err != nil {
			return BadParameter("the query is not well escaped: " + err.Error())
		}
		if value, err = unescape(value); err != nil {
			return BadParameter("parameter " + name + " is not well escaped: " + err.Error())
		}
		if p := Param(name, value, set); p != nil {
			return p
		}
	}
	return nil
}

// Param calls set with a parameter whose texts are fit.
func Param(name, value string, set func(name, value string) *wire.Problem) *wire.Problem {
	if p := checkText("query", name, policy.Line); p != nil {
		return p
	}
	if p := checkText("query."+name, value, parameterShape(name)); p != nil {
		return p
	}
	return set(name, value)
}

// unescape spares the common case the work.
func unescape(s string) (string, error) {
	if !strings.ContainsAny(s, "%+") {
		return s, nil
	}
	return url.QueryUnescape(s)
}

// checkText holds a text that a client has sent to the policy of texts; at is its place, such as query.key.
func checkText(at, s string, shape policy.Shape) *wire.Problem {
	fault := policy.Check(s, shape)
	if fault == nil {
		return nil
	}
	p := wire.NewProblem(http.StatusBadRequest, wire.CodeBadText, at+": "+fault.Error())
	p.Errors = []wire.Fault{{Location: at, Message: fault.Error()}}
	return p
}

// parameterShape is that of a parameter of the query: a note has lines, wherever it stands.
func parameterShape(name string) policy.Shape {
	if name == "note" {
		return policy.Lines
	}
	return policy.Line
}

// SortedUnique sorts the list in place and leaves out what comes twice.
func SortedUnique(s []string) []string {
	if len(s) > 1 {
		slices.Sort(s)
		s = slices.Compact(s)
	}
	return s
}

// Limit is how many things a page may have: 1 to the most that B says. The library reads it as text, so that a bad one gets the code that
// it has everywhere.
type Limit[B pageBounds] string

// pageBounds says how many things a page has at most, and where nobody asks.
type pageBounds interface{ bounds() (most, preset int) }

// The kinds of lists.
type (
	// OfList is a list of what a site has few of, such as subscriptions.
	OfList struct{}
	// OfSearch is a search of notices.
	OfSearch struct{}
	// OfItems is a list of a queue's items.
	OfItems struct{}
	// OfRules is a list of rules.
	OfRules struct{}
	// OfRuns is a list of a rule's runs.
	OfRuns struct{}
	// OfFindings is a list of a rule's open findings.
	OfFindings struct{}
)

func (OfList) bounds() (most, preset int)     { return maxListed, defaultListed }
func (OfSearch) bounds() (most, preset int)   { return maxFound, defaultFound }
func (OfItems) bounds() (most, preset int)    { return item.MaxBatch, DefaultItems }
func (OfRules) bounds() (most, preset int)    { return 2000, 100 }
func (OfRuns) bounds() (most, preset int)     { return 1000, 50 }
func (OfFindings) bounds() (most, preset int) { return 10_000, 100 }

// Schema says what the text has to be.
func (Limit[B]) Schema(huma.Registry) *huma.Schema {
	var b B
	most, preset := b.bounds()
	return IntegerSchema(1, float64(most), preset)
}

// Parse reads the limit; without one it is the preset of the list.
func (l Limit[B]) Parse() (int, *wire.Problem) {
	var b B
	most, preset := b.bounds()
	if l == "" {
		return preset, nil
	}
	n, err := strconv.Atoi(string(l))
	if err != nil || n < 1 || n > most {
		return 0, wire.NewProblem(http.StatusBadRequest, wire.CodeBadLimit, "limit "+policy.Quote(string(l))+" is not a number from 1 to "+strconv.Itoa(most))
	}
	return n, nil
}

// The sizes of lists: what a page has where nothing is said, and at most.
const (
	defaultListed, maxListed = 100, 1000
	defaultFound, maxFound   = 50, 200
	DefaultItems             = 100
)

// The bounds of what clients say and wait for.
const (
	MaxReason   = 200              // characters of why something is changed
	MaxWait     = time.Minute      // that a client may ask for
	LongestHold = 54 * time.Second // that an answer is held back, whatever was asked for: a second later it is written, 5 s before proxies give up
)

// Flag is a query's test=, read as text so that a bad one gets the code that it has everywhere.
type Flag string

// Schema says what the text has to be.
func (Flag) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeBoolean, Default: false}
}

// Parse reads the flag; name is that of its parameter.
func (f Flag) Parse(name string) (bool, *wire.Problem) {
	switch f {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, BadParameter(name + " " + policy.Quote(string(f)) + " is neither true nor false")
}

// ParseSpan reads a duration that is not negative; "" is 0.
func ParseSpan(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := strictyaml.ParseDuration(s)
	if err == nil && d < 0 {
		err = errors.New("it cannot be negative")
	}
	return d, err
}

// Optional is a parameter that may be left out: nil for "".
func Optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// MaxSubscriberID is the longest id of a user or role.
const MaxSubscriberID = 128

// IsName is what a warehouse or the code of a type may be: [A-Za-z0-9][A-Za-z0-9_.-]{0,63}.
func IsName(s string) bool { return notice.IsName(s) }

// IsSubscriber is user:<id> or role:<id>, id [A-Za-z0-9][A-Za-z0-9_.@-]{0,127}.
func IsSubscriber(s string) bool {
	id, ok := strings.CutPrefix(s, "user:")
	if !ok {
		id, ok = strings.CutPrefix(s, "role:")
	}
	return ok && isID(id)
}

// isID is [A-Za-z0-9][A-Za-z0-9_.@-]{0,127}.
func isID(s string) bool {
	if s == "" || len(s) > MaxSubscriberID || !isAlnum(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case isAlnum(c), c == '_', c == '.', c == '-', c == '@':
		default:
			return false
		}
	}
	return true
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// Names in the trace are words of this alphabet; its first characters do not begin one.
const (
	traceAlphabet = "_.:@-" + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	traceMarks    = 5
)

// TraceName makes a name for the trace of any text.
func TraceName(subject string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(traceAlphabet, r) {
			return r
		}
		return '_'
	}, subject)
	name = strings.TrimLeft(name, traceAlphabet[:traceMarks])
	return name[:min(len(name), item.MaxName)]
}

// ListOrder is the order of a list whose rows are numbered or dated. The library reads it as text, so that a bad one gets the code that it has
// everywhere.
type ListOrder string

// The orders of such a list.
const (
	LatestFirst ListOrder = "latest"
	OldestFirst ListOrder = "oldest"
)

// Schema lists the orders.
func (ListOrder) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Default: string(LatestFirst), Enum: []any{string(LatestFirst), string(OldestFirst)}}
}

// Parse tells whether the oldest come first.
func (o ListOrder) Parse() (oldest bool, prob *wire.Problem) {
	switch o {
	case "", LatestFirst:
		return false, nil
	case OldestFirst:
		return true, nil
	}
	return false, BadParameter("order " + policy.Quote(string(o)) + " is neither latest nor oldest")
}

// oldestMark begins the cursors of lists whose oldest rows come first.
const oldestMark = "oldest."

// OrderedCursor is the cursor of such a list, made of one of its rows; "" stays so.
func OrderedCursor(oldest bool, cursor string) string {
	if oldest && cursor != "" {
		return oldestMark + cursor
	}
	return cursor
}

// ParseOrderedCursor takes the mark of the order off a cursor. A cursor of the other order is a problem.
func ParseOrderedCursor(oldest bool, after string) (cursor string, prob *wire.Problem) {
	cursor, isOldest := strings.CutPrefix(after, oldestMark)
	if after == "" || isOldest == oldest {
		return cursor, nil
	}
	of, asked := LatestFirst, OldestFirst
	if isOldest {
		of, asked = OldestFirst, LatestFirst
	}
	return "", wire.NewProblem(http.StatusBadRequest, wire.CodeBadCursor, "after is a cursor of the order "+string(of)+", and order asks for "+string(asked)+
		": begin the list anew, without after")
}

// NumberCursor is the cursor of a page that ends with the row of that number, where the rows of a list are numbered and the latest comes first.
func NumberCursor(last int64) string { return strconv.FormatInt(last, 10) }

// ParseNumberCursor returns the number below which a page begins; 0 where there is no cursor.
func ParseNumberCursor(cursor string) (before int64, ok bool) {
	if cursor == "" {
		return 0, true
	}
	before, err := strconv.ParseInt(cursor, 10, 64)
	return before, err == nil && before > 0 && NumberCursor(before) == cursor
}

// CheckIdempotencyKey is nil for a key that a request may have, and for none.
func CheckIdempotencyKey(key string) *wire.Problem {
	if policy.IsKey(key) {
		return nil
	}
	return wire.NewProblem(http.StatusBadRequest, wire.CodeBadIdempotencyKey, "an Idempotency-Key has at most 255 printable ASCII characters")
}
