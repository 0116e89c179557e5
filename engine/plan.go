package engine

import (
	"time"

	"tallyman/rules"
	"tallyman/rules/schedule"
)

// mostMissed is the largest number of missed firings that catch_up: all runs later.
const mostMissed = 100

// firingPlan decides which firings of one rule in one scope this node tries to run. firingPlan knows no clock and does
// no I/O. A firing starts at its due time plus the jitter.
type firingPlan struct {
	schedule *schedule.Schedule
	jitter   time.Duration
	overlap  rules.Overlap
	catchUp  rules.CatchUp

	base  time.Time   // Every firing due up to base is done, skipped or given up.
	queue []time.Time // Late firings after base that will run, in ascending order.
	fresh bool        // No firing of the queue has run yet. Firings that become late meanwhile may still join the queue.
}

// begin starts the plan of the rule at the time `now`. base is the due time of the rule's last run, or the time at
// which the ledger first heard of the rule. Firings that should have started between base and now are missed: no node
// ran them. A firing that still waits for its jitter is not missed.
func (p *firingPlan) begin(base, now time.Time) {
	p.base, p.queue = base, nil
	missed := p.schedule.Missed(p.base, now.Add(-p.jitter), mostMissed)
	switch {
	case len(missed) == 0:
	case p.catchUp == rules.CatchUpNone:
		p.base = missed[len(missed)-1]
	default:
		p.catchUpOn(missed)
	}
}

// catchUpOn queues the late firings that catch_up lets run: all of them, or the last alone.
func (p *firingPlan) catchUpOn(late []time.Time) {
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

// start returns when a firing begins: its due time plus the jitter.
func (p *firingPlan) start(due time.Time) time.Time { return due.Add(p.jitter) }

// late looks for several late firings, right before the unit tries a firing. Several firings may be due although this
// node was running: the ledger or the source was out of reach, or all workers were busy. Then catch_up decides which of
// them run, but the latest always runs, even with catch_up: none.
func (p *firingPlan) late(now time.Time) {
	if len(p.queue) > 0 && !p.fresh {
		return
	}
	if missed := p.schedule.Missed(p.base, now.Add(-p.jitter), mostMissed); len(missed) > 1 {
		p.catchUpOn(missed)
	}
}

// done notes that this node or another has run the firing.
func (p *firingPlan) done(due time.Time) {
	p.fresh = false
	if due.After(p.base) {
		p.base = due
	}
	for len(p.queue) > 0 && !p.queue[0].After(p.base) {
		p.queue = p.queue[1:]
	}
}

// overlapped decides about the firings whose start came while the firing before was still running. overlapped returns
// the firings that are skipped. While the queue has firings to catch up on, overlapped returns nothing. It decides
// after the last firing of the queue has run.
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
		p.queue = []time.Time{latest} // Only the latest firing waits, because it sees the newest rows.
		return nil
	}
	p.base = latest
	return overdue
}
