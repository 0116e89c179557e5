package engine

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules/schedule"
)

// A firing is late when it is overdue by more than lateAfter and the interval of its rule, of which lateInterval counts
// at most.
const (
	lateAfter    = time.Minute
	lateInterval = 5 * time.Minute
)

// readProgress reads how far the firings of every rule and scope are. While the ledger does not answer they are where
// they were.
func (e *Engine) readProgress(ctx context.Context) (map[string]ledger.Progress, error) {
	list, err := e.opts.Ledger.Progress(ctx)
	if err != nil {
		if last := e.progress.Load(); last != nil {
			return *last, fmt.Errorf("engine: reading the progress of the rules: %w", err)
		}
		return nil, fmt.Errorf("engine: reading the progress of the rules: %w", err)
	}
	by := make(map[string]ledger.Progress, len(list))
	for _, p := range list {
		by[ledger.ScopeKey(p.Rule, p.Scope)] = p
	}
	e.progress.Store(&by)
	return by, nil
}

// lateness is what a unit's firings are judged by; nothing of it changes while the unit lives.
type lateness struct {
	schedule *schedule.Schedule
	jitter   time.Duration
	term     int64     // the clock term of from and known
	from     time.Time // No firing of before this time is due: the rule was disabled or had another schedule.
	known    time.Time // This node knows the rule since then, which counts until the ledger does.
}

func (u *unit) lateness() *lateness {
	l := &lateness{schedule: u.plan.schedule, jitter: u.plan.jitter, term: u.madeIn, known: u.made}
	if !u.catchUpFrom.IsZero() {
		l.from = u.catchUpFrom.Add(-u.plan.jitter)
	}
	return l
}

// overdue returns since how long the next firing should have started, and whether that makes the rule late. The ledger
// and the schedule say what is due: it does not matter what keeps the firing from running. A firing that a node runs
// has started; the one after it may be overdue.
func (l *lateness) overdue(p ledger.Progress, leftOut, now time.Time, term ledger.Term) (time.Duration, bool) {
	base, from := p.Done, l.from
	if base.IsZero() {
		base = l.known
	}
	if p.Term > term.Number { // this node is about to hear of a new term
		return 0, false
	}
	if p.Term < term.Number && (l.term < term.Number || !p.Done.IsZero()) {
		base = term.Began
	}
	if l.term < term.Number {
		from = time.Time{}
	}
	if p.RunningTerm < term.Number {
		p.Running = time.Time{}
	}
	for _, at := range []time.Time{p.Running, from, leftOut} {
		if at.After(base) {
			base = at
		}
	}
	overdue := max(now.Sub(l.schedule.Next(base).Add(l.jitter)), 0)
	return overdue, overdue > lateAfter+min(l.schedule.Shortest(), lateInterval)
}

// Lag is how long after its due time and jitter the last run began; 0 where there is none, or it was skipped.
func (s *RuleStatus) Lag() time.Duration {
	if s.LastRun == nil || s.LastRun.Outcome == ledger.OutcomeSkipped {
		return 0
	}
	lag := s.LastRun.Started.Sub(s.LastRun.Due)
	if s.lateness != nil {
		lag -= s.lateness.jitter
	}
	return max(lag, 0)
}
