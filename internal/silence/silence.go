package silence

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tallyman/internal/text"
	"tallyman/rules/schedule"
)

// State is the state of a silence at a time.
type State string

// The states. A recurring silence is pending between its windows.
const (
	Pending State = "pending"
	Active  State = "active"
	Expired State = "expired"
)

// longestText bounds comments and authors, in bytes.
const longestText = 1000

// Silence holds back the notices that all of its matchers match, while the silence is active. It is active between From
// and Until, or during its windows in that period.
type Silence struct {
	ID       string
	Matchers []Matcher
	From     time.Time
	Until    time.Time // Zero = no end, which only a recurring silence may have.
	Window   *Window   // For a recurring silence; nil = the silence is active all the time.
	Comment  string
	Author   string
	Created  time.Time

	Ended   time.Time // When an operator ended the silence before its time; zero = nobody did.
	EndedBy string

	Events int64 // Number of rows of event rules that the silence has dropped. The ledger counts them.
}

// Check checks a new silence at the time now. The error is an *Error.
func (s *Silence) Check(now time.Time) error {
	switch {
	case len(s.Matchers) == 0:
		return &Error{FieldMatchers, "there is no matcher", "say what to silence, as in rule=negative-bin-stock"}
	case len(s.Matchers) > mostMatchers:
		return &Error{FieldMatchers, fmt.Sprintf("there are more than %d matchers", mostMatchers), ""}
	case !slices.ContainsFunc(s.Matchers, func(m Matcher) bool { return !m.fits("") }):
		return &Error{FieldMatchers, "every matcher also matches an empty text, so the silence could match everything", "add a matcher that names a rule, type, warehouse, scope or label, as in warehouse=119240"}
	case s.Until.IsZero() && s.Window == nil:
		return &Error{FieldUntil, "is missing: a silence needs an end", ""}
	case !s.Until.IsZero() && !s.Until.After(s.From):
		return &Error{FieldUntil, "is not after from", ""}
	case !s.Until.IsZero() && !s.Until.After(now):
		return &Error{FieldUntil, "has passed", ""}
	}
	if err := checkText(FieldComment, s.Comment, text.Lines); err != nil {
		return err
	}
	return checkText(FieldAuthor, s.Author, text.Line)
}

func checkText(field, words string, shape text.Shape) error {
	if len(words) > longestText {
		return &Error{field, fmt.Sprintf("is longer than %d bytes", longestText), ""}
	}
	if fault := text.Check(words, shape); fault != nil {
		return &Error{field, "is not valid text: " + fault.Error(), ""}
	}
	return nil
}

// Matches tells whether all matchers of the silence match the subject.
func (s *Silence) Matches(subject *Subject) bool {
	for i := range s.Matchers {
		if !s.Matchers[i].Matches(subject) {
			return false
		}
	}
	return true
}

// Concerns tells whether the silence may match a notice of the warehouse. Matchers of warehouse must match the
// warehouse. Matchers of scope must match the scope of the same name, or the empty scope of a rule without scopes.
// Matchers of rule must match one of the rules, or the empty rule of a sent notice. The caller passes all rules that
// can make notices in the warehouse.
func (s *Silence) Concerns(warehouse string, rules []string) bool {
	for i := range s.Matchers {
		m := &s.Matchers[i]
		fits := true
		switch m.Name {
		case nameWarehouse:
			fits = m.fits(warehouse)
		case nameScope:
			fits = m.fits(warehouse) || m.fits("")
		case nameRule:
			fits = m.fits("") || slices.ContainsFunc(rules, m.fits)
		}
		if !fits {
			return false
		}
	}
	return true
}

// State returns the state of the silence at a time.
func (s *Silence) State(at time.Time) State {
	switch _, active := s.ActiveUntil(at); {
	case active:
		return Active
	case s.over(at):
		return Expired
	default:
		return Pending
	}
}

func (s *Silence) over(at time.Time) bool {
	return !s.Ended.IsZero() && !at.Before(s.Ended) || !s.Until.IsZero() && !at.Before(s.Until)
}

// ActiveUntil tells whether the silence is active at a time, and until when it stays active if nobody ends it.
func (s *Silence) ActiveUntil(at time.Time) (until time.Time, active bool) {
	if s.over(at) || at.Before(s.From) {
		return time.Time{}, false
	}
	until = s.Until
	if s.Window != nil {
		closes, open := s.Window.OpenUntil(at)
		if !open {
			return time.Time{}, false
		}
		if until.IsZero() || closes.Before(until) {
			until = closes
		}
	}
	return until, true
}

// Next returns the first time after "after" at which the silence becomes active. Zero means that there is no such time.
func (s *Silence) Next(after time.Time) time.Time {
	if s.over(after) {
		return time.Time{}
	}
	from := s.From
	if s.Window != nil {
		from = s.Window.next(latest(after, s.From.Add(-1)))
		if _, open := s.Window.OpenUntil(s.From); open && after.Before(s.From) {
			from = s.From // The silence begins inside a window.
		}
	}
	if !from.After(after) || !s.Until.IsZero() && !from.Before(s.Until) {
		return time.Time{}
	}
	return from
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Window is a recurring maintenance window. It opens whenever the cron fires, and stays open for the duration.
type Window struct {
	Cron     string
	Timezone string
	Duration time.Duration

	opens *schedule.Schedule
}

// The bounds of a window.
const (
	shortestWindow = time.Minute
	longestWindow  = 31 * 24 * time.Hour
)

// NewWindow makes a window. The cron follows the time zone like the cron of a rule, also when daylight saving time
// begins or ends. The duration is elapsed time, which such a change does not alter. The error is an *Error.
func NewWindow(cron, timezone string, duration time.Duration) (*Window, error) {
	opens, err := schedule.Parse(cron, timezone)
	if fault, ok := errors.AsType[*schedule.Error](err); ok {
		return nil, &Error{FieldWindow + "." + fault.Field, fault.Message, fault.Hint}
	}
	switch {
	case err != nil:
		return nil, &Error{FieldWindow, err.Error(), ""}
	case duration < shortestWindow || duration > longestWindow:
		return nil, &Error{FieldWindow + ".duration", fmt.Sprintf("is not between %s and %s", shortestWindow, longestWindow), ""}
	case duration >= opens.Shortest():
		return nil, &Error{
			FieldWindow + ".duration",
			fmt.Sprintf("is not shorter than the %s between two openings: the windows would run into each other", opens.Shortest()), "",
		}
	}
	return &Window{Cron: cron, Timezone: timezone, Duration: duration, opens: opens}, nil
}

// OpenUntil tells whether the window is open at a time, and when it closes. A window that opens again before it has
// closed, as around a change of daylight saving time, stays open.
func (w *Window) OpenUntil(at time.Time) (until time.Time, open bool) {
	opened := w.opens.Next(at.Add(-w.Duration))
	if opened.After(at) {
		return time.Time{}, false
	}
	for {
		until = opened.Add(w.Duration)
		next := w.opens.Next(opened)
		if next.After(until) {
			return until.UTC(), true
		}
		opened = next
	}
}

func (w *Window) next(after time.Time) time.Time { return w.opens.Next(after).UTC() }

// Holding is a silence that holds back the notices of a subject now.
type Holding struct {
	ID      string
	Until   time.Time // The end of the silence, unless somebody ends it earlier.
	Comment string
}

// Set has the silences that a node knows. It is safe for concurrent use. The zero value is an empty set.
type Set struct {
	list    atomic.Pointer[[]Silence]
	reading sync.Mutex
}

// Replace replaces the list. The caller must not change the list afterwards.
func (s *Set) Replace(list []Silence) { s.list.Store(&list) }

// Refresh replaces the list by the result of read. Only one read runs at a time; otherwise a list from before a change
// could replace a list from after it. After an error the list stays as it was.
func (s *Set) Refresh(read func() ([]Silence, error)) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	list, err := read()
	if err != nil {
		return err
	}
	s.Replace(list)
	return nil
}

// Holding returns the active silences that match the subject, the one that lasts longest first.
func (s *Set) Holding(at time.Time, subject *Subject) []Holding {
	list := s.list.Load()
	if list == nil {
		return nil
	}
	var found []Holding
	for i := range *list {
		one := &(*list)[i]
		if !one.Matches(subject) { // Checked first, because the cron of a window costs more.
			continue
		}
		if until, active := one.ActiveUntil(at); active {
			found = append(found, Holding{one.ID, until, one.Comment})
		}
	}
	slices.SortFunc(found, func(a, b Holding) int { return cmp.Or(b.Until.Compare(a.Until), cmp.Compare(a.ID, b.ID)) })
	return found
}

// The fields of a silence that an Error names.
const (
	FieldMatchers = "matchers"
	FieldFrom     = "from"
	FieldUntil    = "until"
	FieldWindow   = "window"
	FieldComment  = "comment"
	FieldAuthor   = "author"
)

// Error is the fault of an invalid silence.
type Error struct {
	Field   string // One of the Field… constants, or a part of that field after a dot.
	Message string
	Hint    string // How to correct the fault; may be empty.
}

// Error returns the field and the message.
func (e *Error) Error() string { return e.Field + ": " + e.Message }

func bad(text, message, hint string) *Error {
	const long = 100
	if len(text) > long {
		text = text[:long] + "…"
	}
	return &Error{FieldMatchers, fmt.Sprintf("%q: %s", text, message), hint}
}
