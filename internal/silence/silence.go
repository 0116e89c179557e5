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

// State is how a silence stands at a time.
type State string

// The states. A recurring one is pending between its windows.
const (
	Pending State = "pending"
	Active  State = "active"
	Expired State = "expired"
)

// longestText bounds comments and authors, in bytes.
const longestText = 1000

// Silence holds back what is about all that its matchers match, for as long as it is active: from From until Until, or during
// its windows.
type Silence struct {
	ID       string
	Matchers []Matcher
	From     time.Time
	Until    time.Time // zero = for ever, which only a recurring one may
	Window   *Window   // of a recurring one; nil = it is active all the time
	Comment  string
	Author   string
	Created  time.Time

	Ended   time.Time // when an operator ended it before its time; zero = nobody did
	EndedBy string

	Events int64 // rows of mode event that it has dropped; the ledger counts them
}

// Check finds what is wrong with a new silence at a time. The error is an *Error.
func (s *Silence) Check(now time.Time) error {
	switch {
	case len(s.Matchers) == 0:
		return &Error{FieldMatchers, "there is none", "say what to silence, as in rule=negative-bin-stock"}
	case len(s.Matchers) > mostMatchers:
		return &Error{FieldMatchers, fmt.Sprintf("there are more than %d", mostMatchers), ""}
	case !slices.ContainsFunc(s.Matchers, func(m Matcher) bool { return !m.fits("") }):
		return &Error{FieldMatchers, "each of them matches an empty text, too, so that they could silence everything", "add one that names a rule, type, warehouse, scope or label, as in warehouse=119240"}
	case s.Until.IsZero() && s.Window == nil:
		return &Error{FieldUntil, "is missing: a silence has an end", ""}
	case !s.Until.IsZero() && !s.Until.After(s.From):
		return &Error{FieldUntil, "is not after from", ""}
	case !s.Until.IsZero() && !s.Until.After(now):
		return &Error{FieldUntil, "has passed", ""}
	}
	for field, words := range map[string]string{FieldComment: s.Comment, FieldAuthor: s.Author} {
		if len(words) > longestText {
			return &Error{field, fmt.Sprintf("is longer than %d bytes", longestText), ""}
		}
		shape := text.Line
		if field == FieldComment {
			shape = text.Lines
		}
		if fault := text.Check(words, shape); fault != nil {
			return &Error{field, "is no text: " + fault.Error(), ""}
		}
	}
	return nil
}

// Matches tells whether the silence is about the subject. All its matchers have to match.
func (s *Silence) Matches(subject *Subject) bool {
	for i := range s.Matchers {
		if !s.Matchers[i].Matches(subject) {
			return false
		}
	}
	return true
}

// Concerns tells whether the silence may be about something in the warehouse: whether its matchers of warehouse fit the warehouse, those of
// scope the scope of its name or a rule without scopes, and those of rule one of the rules, which are all that may tell something there, or
// a notice that no rule has made.
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

// State tells how the silence stands at a time.
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

// ActiveUntil tells whether the silence is active at a time, and until when it is if nobody ends it.
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

// Next returns when the silence begins to be active after a time; zero = it does not.
func (s *Silence) Next(after time.Time) time.Time {
	if s.over(after) {
		return time.Time{}
	}
	from := s.From
	if s.Window != nil {
		from = s.Window.next(latest(after, s.From.Add(-1)))
		if _, open := s.Window.OpenUntil(s.From); open && after.Before(s.From) {
			from = s.From // it begins inside a window
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

// Window is a maintenance window that recurs: it opens whenever the cron fires and stays open for the duration.
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

// NewWindow makes a window. The cron follows the timezone as those of rules do, through changes of the clock, too; the duration is
// what a stopwatch shows. The error is an *Error.
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

// OpenUntil tells whether the window is open at a time, and until when. One that opens again before it has closed, as around a change
// of the clock, stays open.
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

// Holding is a silence that holds something back now.
type Holding struct {
	ID      string
	Until   time.Time // unless somebody ends it before
	Comment string
}

// Set is the silences that a node knows. It is safe for concurrent use; the zero value has none.
type Set struct {
	list    atomic.Pointer[[]Silence]
	reading sync.Mutex
}

// Replace makes the list the one that counts. The caller does not change it any more.
func (s *Set) Replace(list []Silence) { s.list.Store(&list) }

// Refresh makes what is read the list that counts. One reads at a time: else what was read before a change could be put over what was read after
// it. After an error the list stays as it was.
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

// Holding returns the active silences that are about the subject, the one that lasts longest first.
func (s *Set) Holding(at time.Time, subject *Subject) []Holding {
	list := s.list.Load()
	if list == nil {
		return nil
	}
	var found []Holding
	for i := range *list {
		one := &(*list)[i]
		if !one.Matches(subject) { // first, since a window asks its cron
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

// Error is a silence that cannot be: which field of it, and why.
type Error struct {
	Field   string // one of the Field… constants, or a part of one after a dot
	Message string
	Hint    string // the way out; may be empty
}

// Error names the field and the fault.
func (e *Error) Error() string { return e.Field + ": " + e.Message }

func bad(text, message, hint string) *Error {
	const long = 100
	if len(text) > long {
		text = text[:long] + "…"
	}
	return &Error{FieldMatchers, fmt.Sprintf("%q: %s", text, message), hint}
}
