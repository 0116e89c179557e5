package deliver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tallyman/internal/notice"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// The codes of faults, in addition to the codes of strictyaml.
const (
	CodeDuplicateName = "duplicate_name"
	CodeConflict      = "conflict"
	CodeMode          = "wrong_mode"
	CodeStrategy      = "wrong_strategy"
	CodeStrategySink  = "strategy_not_for_sink"
	CodeUnread        = "unless_unread"
	CodeTooLate       = "delivered_too_late"
	CodeUnknownSink   = "unknown_sink"
)

// Fault says what is wrong with a field of an entry. Field is a path such as "[0].delay". In faults of Entry.Faults and
// Entry.Beyond, Field is the name alone, such as "delay".
type Fault struct {
	Field, Code, Message, Hint string
}

// Field returns the path of a field of entry i of a list.
func Field(i int, field string) string { return fmt.Sprintf("[%d].%s", i, field) }

// Names checks the number of entries and the names of their sinks.
func Names(list []Entry) []Fault {
	var l []Fault
	if n := len(list); n > notice.MaxSinks {
		l = append(l, Fault{"", strictyaml.CodeOutOfRange, fmt.Sprintf("deliver has %d entries, at most %d are allowed", n, notice.MaxSinks), "name each sink once"})
	}
	seen := map[string]bool{}
	for i := range list {
		switch name := list[i].Sink; {
		case name == "":
			l = append(l, Fault{Field(i, "sink"), strictyaml.CodeMissing, "the sink has no name", ""})
		case seen[name]:
			l = append(l, Fault{Field(i, "sink"), CodeDuplicateName, fmt.Sprintf("the notices go to %q already", name), "name each sink once"})
		}
		seen[list[i].Sink] = true
	}
	return l
}

// strategyFields belong to one strategy each.
var strategyFields = []struct {
	name string
	of   Strategy
}{
	{"within", Timed}, {"delay", Delayed}, {"at", Delayed}, {"retry", Delayed}, {"unless", Delayed}, {"until", Important},
}

// Faults reports fields of an entry that do not fit together. has tells whether a field is written. resolves tells
// whether the findings behind the notices can resolve.
func (e *Entry) Faults(has func(field string) bool, resolves bool) []Fault {
	var l []Fault
	fail := func(field, code, message, hint string) { l = append(l, Fault{field, code, message, hint}) }
	for _, f := range strategyFields {
		if has(f.name) && e.Strategy != f.of {
			fail(f.name, CodeStrategy, fmt.Sprintf("%s belongs to strategy %s, but this entry has strategy %s", f.name, f.of, e.Strategy),
				fmt.Sprintf("set strategy: %s, or remove %s", f.of, f.name))
		}
	}
	switch {
	case e.Strategy == Timed && !has("within"):
		fail("strategy", strictyaml.CodeMissing, "within is missing: strategy timed ends after this time", "for example within: 30m")
	case e.Strategy == Delayed && !has("delay") && !has("at"):
		fail("strategy", strictyaml.CodeMissing, "delay is missing: strategy delayed waits for this time", "for example delay: 10m; a rule may give a time by an expression instead, such as at: released_at")
	case e.Strategy == Delayed && has("delay") && has("at"):
		fail("at", CodeConflict, "the delivery has two times to wait for, delay and at", "keep one")
	}
	if e.WaitsForResolution() && !resolves {
		fail("unless", CodeMode, NothingResolves, "unless: read, or acked; or remove it")
	}
	return l
}

// The bounds of an entry. The tags of Spec must have the same values.
const (
	MostDelay   = 366 * 24 * time.Hour
	LeastWithin = time.Second
	MostWithin  = 30 * 24 * time.Hour
	MostRetry   = 100
)

// Beyond reports values beyond the bounds. It is for entries that do not come from a file, since decoding a file checks
// the tags of Spec.
func (e *Entry) Beyond() []Fault {
	var l []Fault
	fail := func(field, code, message string) { l = append(l, Fault{Field: field, Code: code, Message: message}) }
	if !slices.Contains([]Strategy{Immediate, Delayed, Important, Timed}, e.Strategy) {
		fail("strategy", strictyaml.CodeEnum, "strategy must be immediate, delayed, important or timed")
	}
	if !slices.Contains([]Unless{"", UnlessRead, UnlessAcked, UnlessResolved}, e.Unless) {
		fail("unless", strictyaml.CodeEnum, "unless must be read, acked or resolved")
	}
	if e.Until != "" && e.Until != UntilSent {
		fail("until", strictyaml.CodeEnum, "until must be sent")
	}
	if e.Delay < 0 || e.Delay > MostDelay {
		fail("delay", strictyaml.CodeOutOfRange, "delay must be from 0s to 366d")
	}
	if e.Within != 0 && (e.Within < LeastWithin || e.Within > MostWithin) {
		fail("within", strictyaml.CodeOutOfRange, "within must be from 1s to 30d")
	}
	if e.Retry < 0 || e.Retry > MostRetry {
		fail("retry", strictyaml.CodeOutOfRange, "retry must be from 0 to 100")
	}
	return l
}

// NothingResolves is the message for an entry of mode event that waits for a finding to resolve.
const NothingResolves = "unless: resolved cannot be used in mode event: its findings never resolve"

// WaitsForResolution tells whether the delivery is canceled when its finding resolves.
func (e *Entry) WaitsForResolution() bool {
	return e.Strategy == Delayed && e.Unless == UnlessResolved
}

// Sinks are the sinks of a site.
type Sinks struct {
	Types map[string]string // The type of each sink, by the sink's name.
	Push  []string          // The types of push channels that exist, for hints.
}

// Life says how long notices live. Text is Span for messages. Longer names the setting that makes notices live longer;
// "" means that there is none.
type Life struct {
	Span         time.Duration
	Text, Longer string
}

// Check checks entries against the sinks of the site and the life of the notices.
func (s Sinks) Check(list []Entry, life Life) []Fault {
	var l []Fault
	fail := func(i int, field, code, message, hint string) {
		l = append(l, Fault{Field(i, field), code, message, hint})
	}
	inbox := slices.ContainsFunc(list, func(e Entry) bool { return s.Types[e.Sink] == inboxSink })
	for i := range list {
		e := &list[i]
		typ, ok := s.Types[e.Sink]
		switch {
		case !ok:
			fail(i, "sink", CodeUnknownSink, fmt.Sprintf("no sink %q is configured", e.Sink), problem.Nearest(e.Sink, slices.Sorted(maps.Keys(s.Types)), "sinks"))
		case !PushSink(typ) && (e.Strategy == Delayed || e.Strategy == Timed):
			fail(i, "strategy", CodeStrategySink,
				fmt.Sprintf("the sink %s is of type %s: Tallyman delivers to it at once and retries until it takes the notice; strategy %s is for push channels", e.Sink, typ, e.Strategy),
				s.strategyHint(e))
		case !PushSink(typ) && e.Until == UntilSent:
			fail(i, "until", CodeStrategySink,
				fmt.Sprintf("the sink %s is of type %s, which takes no notice that has expired: until: sent is for push channels", e.Sink, typ), s.strategyHint(e))
		case !inbox && (e.Unless == UnlessRead || e.Unless == UnlessAcked):
			fail(i, "unless", CodeUnread, fmt.Sprintf("unless: %s never cancels, because no entry of deliver is an inbox, where the notice could be %s", e.Unless, e.Unless),
				"deliver to the inbox as well, or remove unless")
		case life.Span > 0 && e.At == "" && e.Delay >= life.Span:
			hint := "make the delay shorter"
			if life.Longer != "" {
				hint += ", or let notices live longer with " + life.Longer
			}
			fail(i, "delay", CodeTooLate,
				fmt.Sprintf("a delay of %s is not shorter than the life of a notice, which is %s: every notice would expire before its delivery", strictyaml.FormatDuration(e.Delay), life.Text), hint)
		}
	}
	return l
}

// strategyHint says what to remove where a sink takes no strategy, and which push channels there are.
func (s Sinks) strategyHint(e *Entry) string {
	var fields []string
	if e.Strategy != Important { // important may stay, because these sinks retry until they have the notice anyway
		fields = append(fields, "strategy")
	}
	for _, f := range strategyFields {
		if f.of == e.Strategy {
			fields = append(fields, f.name)
		}
	}
	remove := "remove " + strings.Join(fields, ", ")
	var push []string
	for _, name := range slices.Sorted(maps.Keys(s.Types)) {
		if PushSink(s.Types[name]) {
			push = append(push, name)
		}
	}
	if len(push) == 0 {
		return remove + "; no push channel (" + strings.Join(s.Push, ", ") + ") is configured"
	}
	return remove + "; push channels: " + strings.Join(push, ", ")
}
