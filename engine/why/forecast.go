package why

import (
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/rules"
)

// mostAhead bounds how many firings are looked ahead: a schedule of every second for a day.
const mostAhead = 100_000

// next foresees what comes of the finding if every run goes well and the row stays as the source shows it, or as it was
// seen last.
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
	case f.Baseline && present: // it goes on without a word, unless something of it is news
	case f.Phase == finding.Pending:
		g.fires(f.SinceClock)
	case !present:
		g.resolves(f)
	case f.Ordinal == 0:
		g.foresee(NextFires, g.tells)
	case a.Rule.RepeatInterval > 0:
		g.foresee(NextReminder, func(ahead futureFiring) bool {
			return ahead.due.Sub(f.LastNotified) >= a.Rule.RepeatInterval && g.tells(ahead)
		})
	}
}

// event foresees that the next firing tells the row, unless it drops it.
func (g *gatherer) event() {
	g.foresee(NextEvent, func(futureFiring) bool { return true })
	if g.answer.Next != nil && g.answer.Next.At.Before(g.quiet) {
		g.answer.Next = nil
	}
}

// tells says whether a firing to come may tell what there is: as far as is known now, nothing silences it any more.
func (g *gatherer) tells(ahead futureFiring) bool { return !ahead.at.Before(g.quiet) }

// fires foresees the first firing by which the finding has been seen for long enough. seen is the scope's clock when it
// was seen first, negative where no run has seen it yet.
func (g *gatherer) fires(seen time.Duration) {
	g.foresee(NextFires, func(ahead futureFiring) bool {
		if seen < 0 {
			seen = ahead.clock
		}
		return ahead.clock-seen >= g.answer.Rule.For && g.tells(ahead)
	})
}

// resolves foresees the first firing by which the finding has been gone for long enough. Where no run has missed it
// yet, the next one is the first.
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

// futureFiring is the scope at a firing to come.
type futureFiring struct {
	due   time.Time
	at    time.Time     // with the rule's jitter
	clock time.Duration // as observed by then
}

// foresee walks the firings to come until one is the one.
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
