package silence

import (
	"errors"
	"fmt"
	"time"

	"tallyman/rules/schedule"
)

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
