package engine

import (
	"time"

	"tallyman/rules"
	"tallyman/rules/schedule"
)

// mostMissed bounds what catch_up: all makes good.
const mostMissed = 100

// plan decides which firings of one rule in one scope this node tries to run. It knows no clock and does
// no I/O. A firing starts at its due time plus the jitter.
type firingPlan struct {
	schedule *schedule.Schedule
	jitter   time.Duration
	overlap  rules.Overlap
	catchUp  rules.CatchUp

	base  time.Time   // every firing up to here is done, skipped or given up
	queue []time.Time // firings after base that are late and to be made good, ascending
	fresh bool        // none of the queue was run yet, so what is late by now may join it
}

// begin takes up the rule at now. base is the due time of its last run, or when the ledger first heard of it. What
// should have started since then is missed: no node ran. What waits for its jitter is not.
func (p *firingPlan) begin(base, now time.Time) {
	p.base, p.queue = base, nil
	missed := p.schedule.Missed(p.base, now.Add(-p.jitter), mostMissed)
	switch {
	case len(missed) == 0:
	case p.catchUp == rules.CatchUpNone:
		p.base = missed[len(missed)-1]
	default:
		p.makeGood(missed)
	}
}

// makeGood queues those of the late firings that are run.
func (p *firingPlan) makeGood(late []time.Time) {
	p.queue, p.fresh = late, true
	if p.catchUp != rules.CatchUpAll {
		p.queue = late[len(late)-1:]
	}
}

// due returns the firing to try next.
func (p *firingPlan) due() time.Time {
	if len(p.queue) > 0 {
		return p.queue[0]
	}
	return p.schedule.Next(p.base)
}

// start returns when a firing begins.
func (p *firingPlan) start(due time.Time) time.Time { return due.Add(p.jitter) }

// late is asked right before a firing is tried. Several may be due by now although this node was there: the
// ledger or the source was out of reach, or all workers were busy. Then catch_up decides, but one is always run.
func (p *firingPlan) late(now time.Time) {
	if len(p.queue) > 0 && !p.fresh {
		return
	}
	if missed := p.schedule.Missed(p.base, now.Add(-p.jitter), mostMissed); len(missed) > 1 {
		p.makeGood(missed)
	}
}

// done notes that the firing was run, here or elsewhere.
func (p *firingPlan) done(due time.Time) {
	p.fresh = false
	if due.After(p.base) {
		p.base = due
	}
	for len(p.queue) > 0 && !p.queue[0].After(p.base) {
		p.queue = p.queue[1:]
	}
}

// overlapped decides about the firings that came to their start before now while the one before still ran. It
// returns those that are skipped. Firings that are made good come first; what comes due
// meanwhile is decided when the last of them has run.
func (p *firingPlan) overlapped(now time.Time) (skipped []time.Time) {
	if len(p.queue) > 0 {
		return nil
	}
	overdue := p.schedule.Missed(p.base, now.Add(-p.jitter), mostMissed)
	if len(overdue) == 0 {
		return nil
	}
	latest := overdue[len(overdue)-1]
	if p.overlap == rules.OverlapQueue {
		p.queue = []time.Time{latest} // one waits: the latest, which sees the most
		return nil
	}
	p.base = latest
	return overdue
}
