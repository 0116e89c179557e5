package engine

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules/schedule"
)

// A firing is late when it is overdue by more than lateAfter plus the interval of its rule. An interval that is longer
// than lateInterval counts as lateInterval.
const (
	lateAfter    = time.Minute
	lateInterval = 5 * time.Minute
)

// readProgress reads the last firing of every rule and scope from the ledger. While the ledger does not answer,
// readProgress returns the ledger's last answer with the error.
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

// lateness has the data that decide whether a unit's firings are late. These data do not change while the unit lives.
type lateness struct {
	schedule *schedule.Schedule
	jitter   time.Duration
	term     int64     // The clock term of from and known.
	from     time.Time // No firing before this time is due: the rule was disabled or had another schedule.
	known    time.Time // When this node made the unit. It counts while the ledger does not know the rule.
}

func (u *unit) lateness() *lateness {
	l := &lateness{schedule: u.plan.schedule, jitter: u.plan.jitter, term: u.madeIn, known: u.made}
	if !u.catchUpFrom.IsZero() {
		l.from = u.catchUpFrom.Add(-u.plan.jitter)
	}
	return l
}

// overdue returns how long ago the next firing should have started, and whether that makes the rule late. Only the
// ledger and the schedule decide what is due; the reason why the firing does not run does not matter. While a firing
// runs, overdue looks at the firing after the running one.
func (l *lateness) overdue(p ledger.Progress, leftOut, now time.Time, term ledger.Term) (time.Duration, bool) {
	base, from := p.Done, l.from
	if base.IsZero() {
		base = l.known
	}
	if p.Term > term.Number { // A new clock term has begun, and this node does not know it yet.
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

// Lag returns how long after its due time plus jitter the last run began. Lag is 0 where there is no run, or the last
// one was skipped.
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
