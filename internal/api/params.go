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

// Params calls set with each parameter of a raw query. set decides what an empty value (limit=) means. Params stops at
// the first problem.
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
			return BadParameter("the query has an invalid escape: " + err.Error())
		}
		if value, err = unescape(value); err != nil {
			return BadParameter("parameter " + name + " has an invalid escape: " + err.Error())
		}
		if p := Param(name, value, set); p != nil {
			return p
		}
	}
	return nil
}

// Param checks the name and the value of a parameter against the policy of texts, and then calls set.
func Param(name, value string, set func(name, value string) *wire.Problem) *wire.Problem {
	if p := checkText("query", name, policy.Line); p != nil {
		return p
	}
	if p := checkText("query."+name, value, parameterShape(name)); p != nil {
		return p
	}
	return set(name, value)
}

// unescape unescapes a text of a query. Most texts have no escape and cost nothing.
func unescape(s string) (string, error) {
	if !strings.ContainsAny(s, "%+") {
		return s, nil
	}
	return url.QueryUnescape(s)
}

// checkText checks a text of a client against the policy of texts. at is the place of the text, such as query.key.
func checkText(at, s string, shape policy.Shape) *wire.Problem {
	fault := policy.Check(s, shape)
	if fault == nil {
		return nil
	}
	p := wire.NewProblem(http.StatusBadRequest, wire.CodeBadText, at+": "+fault.Error())
	p.Errors = []wire.Fault{{Location: at, Message: fault.Error()}}
	return p
}

// parameterShape returns the allowed shape of a query parameter. Only a note may have several lines.
func parameterShape(name string) policy.Shape {
	if name == "note" {
		return policy.Lines
	}
	return policy.Line
}

// SortedUnique sorts the list in place and removes duplicates.
func SortedUnique(s []string) []string {
	if len(s) > 1 {
		slices.Sort(s)
		s = slices.Compact(s)
	}
	return s
}

// Limit is the parameter limit: the maximum number of things in a page, from 1 to the maximum of B. Limit is a text, so
// that the handler and not the library refuses a bad value, with the same code everywhere.
type Limit[B pageBounds] string

// pageBounds has the maximum and the default size of a page.
type pageBounds interface{ bounds() (most, preset int) }

// The kinds of lists.
type (
	// OfList is a list of things that are few at each site, such as subscriptions.
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

// Schema returns the schema of the parameter.
func (Limit[B]) Schema(huma.Registry) *huma.Schema {
	var b B
	most, preset := b.bounds()
	return IntegerSchema(1, float64(most), preset)
}

// Parse returns the limit, or the default of the list if there is none.
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

// The default and the maximum sizes of pages.
const (
	defaultListed, maxListed = 100, 1000
	defaultFound, maxFound   = 50, 200
	DefaultItems             = 100
)

// The bounds of reasons and waits.
const (
	MaxReason = 200         // Characters of a reason.
	MaxWait   = time.Minute // The longest wait that a client may ask for.
	// LongestHold is the longest time for which the server holds back an answer, whatever the client asked for. The
	// server writes the answer about a second later. Common proxies give up 5 s after that, because their timeout is
	// one minute.
	LongestHold = 54 * time.Second
)

// Flag is a parameter with the value true or false. Flag is a text, so that a bad value gets the same code everywhere.
type Flag string

// Schema returns the schema of the parameter.
func (Flag) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeBoolean, Default: false}
}

// Parse returns the value of the flag. name is the name of the parameter.
func (f Flag) Parse(name string) (bool, *wire.Problem) {
	switch f {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, BadParameter(name + " " + policy.Quote(string(f)) + " is neither true nor false")
}

// ParseSpan parses a duration that must not be negative; "" is 0.
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

// Optional returns nil for an empty parameter, and a pointer to its value otherwise.
func Optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// MaxSubscriberID is the length of the longest id of a user or role.
const MaxSubscriberID = 128

// IsName tells whether a text can name a warehouse or a type: [A-Za-z0-9][A-Za-z0-9_.-]{0,63}.
func IsName(s string) bool { return notice.IsName(s) }

// IsSubscriber tells whether a text is user:<id> or role:<id>, with an id [A-Za-z0-9][A-Za-z0-9_.@-]{0,127}.
func IsSubscriber(s string) bool {
	id, ok := strings.CutPrefix(s, "user:")
	if !ok {
		id, ok = strings.CutPrefix(s, "role:")
	}
	return ok && isID(id)
}

// isID tells whether a text matches [A-Za-z0-9][A-Za-z0-9_.@-]{0,127}.
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

// The alphabet of names in an item's trace. A name must not begin with one of the first traceMarks characters.
const (
	traceAlphabet = "_.:@-" + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	traceMarks    = 5
)

// TraceName converts any text to a name for an item's trace.
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

// ListOrder is the order of a list whose rows have a number or a time. ListOrder is a text, so that a bad value gets
// the same code everywhere.
type ListOrder string

// The orders of a list.
const (
	LatestFirst ListOrder = "latest"
	OldestFirst ListOrder = "oldest"
)

// Schema returns the schema of the parameter.
func (ListOrder) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Default: string(LatestFirst), Enum: []any{string(LatestFirst), string(OldestFirst)}}
}

// Parse tells whether the oldest rows come first.
func (o ListOrder) Parse() (oldest bool, prob *wire.Problem) {
	switch o {
	case "", LatestFirst:
		return false, nil
	case OldestFirst:
		return true, nil
	}
	return false, BadParameter("order " + policy.Quote(string(o)) + " is neither latest nor oldest")
}

// oldestMark begins a cursor of a list whose oldest rows come first. oldestMark lets the server refuse a cursor of the
// other order.
const oldestMark = "oldest."

// OrderedCursor adds the mark of the order to a cursor. An empty cursor stays empty.
func OrderedCursor(oldest bool, cursor string) string {
	if oldest && cursor != "" {
		return oldestMark + cursor
	}
	return cursor
}

// ParseOrderedCursor removes the mark of the order from a cursor. ParseOrderedCursor refuses a cursor of the other
// order.
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
		": start the list again without after")
}

// NumberCursor returns the cursor of a page that ends with the row of this number. The list has numbered rows, the
// latest first.
func NumberCursor(last int64) string { return strconv.FormatInt(last, 10) }

// ParseNumberCursor returns the number below which the next page begins, or 0 for an empty cursor. ok is false for an
// invalid cursor.
func ParseNumberCursor(cursor string) (before int64, ok bool) {
	if cursor == "" {
		return 0, true
	}
	before, err := strconv.ParseInt(cursor, 10, 64)
	return before, err == nil && before > 0 && NumberCursor(before) == cursor
}

// CheckIdempotencyKey returns nil for a valid key and for an empty key.
func CheckIdempotencyKey(key string) *wire.Problem {
	if policy.IsKey(key) {
		return nil
	}
	return wire.NewProblem(http.StatusBadRequest, wire.CodeBadIdempotencyKey, "an Idempotency-Key has at most 255 printable ASCII characters")
}

// PastTime parses a parameter that takes RFC 3339 or a duration before now. Without a text the time is zero.
func PastTime(name, text string, now time.Time) (time.Time, *wire.Problem) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := strictyaml.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, wire.NewProblem(http.StatusBadRequest, wire.CodeBadSince, name+" "+policy.Quote(text)+" is neither a time such as 2026-06-01T00:00:00Z nor a duration such as 1h")
	}
	return at, nil
}
