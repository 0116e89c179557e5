package why

import (
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/rules"
)

// mostAhead bounds how many firings the forecast looks ahead: about a day of a schedule that is due every second.
const mostAhead = 100_000

// next sets the forecast. next assumes that every run succeeds and that the row stays as the look shows it, or else as
// the last run saw it.
func (g *gatherer) next() {
	a := g.answer
	if g.isBaselineNext() || !a.Enabled || !a.Verified || a.Look.answered() && a.Look.Fault != "" {
		return
	}
	present := a.Finding != nil && a.Finding.AbsentSince.IsZero()
	if a.Look.answered() {
		present = a.Look.Found && a.Look.Match && !a.Look.Seen
	}
	switch f := a.Finding; {
	case a.Rule.Mode == rules.ModeEvent:
		if present && a.Look.answered() {
			g.event()
		}
	case f == nil:
		if present {
			g.fires(-1)
		}
	case f.Phase == finding.Pending && !present:
		g.foresee(NextDropped, func(futureFiring) bool { return true })
	case f.Baseline && present: // A finding of the first run gets no notice, unless it changes.
	case f.Phase == finding.Pending:
		g.fires(f.SinceClock)
	case !present:
		g.resolves(f)
	case f.Ordinal == 0:
		g.foresee(NextFires, g.notifies)
	case a.Rule.RepeatInterval > 0:
		g.foresee(NextReminder, func(ahead futureFiring) bool {
			return ahead.due.Sub(f.LastNotified) >= a.Rule.RepeatInterval && g.notifies(ahead)
		})
	}
}

// event forecasts a notice of the row in the next firing, unless a silence drops the event.
func (g *gatherer) event() {
	g.foresee(NextEvent, func(futureFiring) bool { return true })
	if g.answer.Next != nil && g.answer.Next.At.Before(g.quiet) {
		g.answer.Next = nil
	}
}

// notifies tells whether a future firing may send the finding's notice: the known silences have ended by then.
func (g *gatherer) notifies(ahead futureFiring) bool { return !ahead.at.Before(g.quiet) }

// fires forecasts the first firing at which runs have seen the finding for as long as the rule's `for` asks. seen is
// the scope's observed clock when a run first saw the finding. A negative seen means no run has seen the finding yet.
func (g *gatherer) fires(seen time.Duration) {
	g.foresee(NextFires, func(ahead futureFiring) bool {
		if seen < 0 {
			seen = ahead.clock
		}
		return ahead.clock-seen >= g.answer.Rule.For && g.notifies(ahead)
	})
}

// resolves forecasts the first firing at which the finding has been gone for as long as keep_firing_for asks. Where no
// run has missed the finding yet, the next run is the first to miss it.
func (g *gatherer) resolves(f *ledger.Finding) {
	missed := f.SinceClock
	if f.AbsentSince.IsZero() {
		missed = -1
	}
	g.foresee(NextResolves, func(ahead futureFiring) bool {
		if missed < 0 {
			missed = ahead.clock
		}
		return ahead.clock-missed >= g.answer.Rule.KeepFiringFor
	})
}

// futureFiring is a future firing of the scope.
type futureFiring struct {
	due   time.Time
	at    time.Time     // Due plus the rule's jitter.
	clock time.Duration // The scope's observed clock at that firing.
}

// foresee sets the forecast to the first future firing that meets the condition. foresee sets none after mostAhead
// firings.
func (g *gatherer) foresee(what string, met func(futureFiring) bool) {
	r := g.answer.Rule
	due := g.answer.NextDue
	if due.IsZero() {
		due = g.sched.Next(g.answer.Asked)
	}
	last, clock := g.state.Since(), g.state.Clock
	for range mostAhead {
		if !last.IsZero() {
			clock += min(due.Sub(last), g.sched.Shortest())
		}
		at := due.UTC().Add(r.Jitter(r.ScanGroup()))
		if met(futureFiring{due, at, clock}) {
			g.answer.Next = &Forecast{What: what, Due: due.UTC(), At: at}
			return
		}
		last, due = due, g.sched.Next(due)
	}
}
