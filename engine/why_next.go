package engine

import (
	"time"

	"tallyman/internal/finding"
	"tallyman/rules"
	"tallyman/rules/schedule"
)

// mostAhead bounds how many firings are looked ahead: a schedule of every second for a day.
const mostAhead = 100_000

// next foresees what comes of the finding if every run goes well and the row stays as the source shows it, or as it was seen last.
func (h *holder) next() {
	w := h.w
	if !w.Enabled || !w.Verified || w.Look.answered() && w.Look.Fault != "" {
		return
	}
	present := w.Finding != nil && w.Finding.AbsentSince.IsZero()
	if w.Look.answered() {
		present = w.Look.Found && w.Look.Match
	}
	switch f := w.Finding; {
	case w.Rule.Mode == rules.ModeEvent:
		if present && w.Look.answered() {
			h.event()
		}
	case f == nil:
		if present {
			h.fires(-1)
		}
	case f.Phase == finding.Pending && !present:
		h.foresee(NextDropped, func(ahead) bool { return true })
	case f.Phase == finding.Pending:
		h.fires(f.SeenClock)
	case !present:
		since := f.AbsentSince
		if since.IsZero() {
			since = h.state.SinceOK()
		}
		h.foresee(NextResolves, func(a ahead) bool { return a.due.Sub(since) >= w.Rule.KeepFiringFor })
	case f.Ordinal == 0:
		h.foresee(NextFires, h.tells)
	case w.Rule.RepeatInterval > 0:
		h.foresee(NextReminder, func(a ahead) bool { return a.due.Sub(f.LastNotified) >= w.Rule.RepeatInterval && h.tells(a) })
	}
}

// event foresees that the next firing tells the row, unless it drops it.
func (h *holder) event() {
	h.foresee(NextEvent, func(ahead) bool { return true })
	if h.w.Next != nil && h.w.Next.At.Before(h.quiet) {
		h.w.Next = nil
	}
}

// tells says whether a firing to come may tell what there is: as far as is known now, nothing silences it any more.
func (h *holder) tells(a ahead) bool { return !a.at.Before(h.quiet) }

// fires foresees the first firing by which the finding has been seen for long enough. seen is the scope's clock when it
// was seen first, negative where no run has seen it yet.
func (h *holder) fires(seen time.Duration) {
	h.foresee(NextFires, func(a ahead) bool {
		if seen < 0 {
			seen = a.clock
		}
		return a.clock-seen >= h.w.Rule.For && h.tells(a)
	})
}

// ahead is the scope at a firing to come.
type ahead struct {
	due   time.Time
	at    time.Time     // with the rule's jitter
	clock time.Duration // as observed by then
}

// foresee walks the firings to come until one is the one.
func (h *holder) foresee(what string, met func(ahead) bool) {
	r := h.w.Rule
	due := h.w.NextDue
	if due.IsZero() {
		due = h.sched.Next(h.w.Asked)
	}
	last, clock := h.state.Since(), h.state.Clock
	for range mostAhead {
		if !last.IsZero() {
			clock += min(due.Sub(last), h.sched.Shortest())
		}
		at := due.UTC().Add(schedule.Jitter(r.ID, r.Scope, r.Schedule.Jitter))
		if met(ahead{due, at, clock}) {
			h.w.Next = &Next{What: what, Due: due.UTC(), At: at}
			return
		}
		last, due = due, h.sched.Next(due)
	}
}
