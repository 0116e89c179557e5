package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
)

// RuleStatus is how a rule is in a scope.
type RuleStatus struct {
	Rule     *rules.Rule
	Enabled  bool           // it runs, whatever its file says
	Switch   *ledger.Switch // what is switched beside the file; nil = nothing
	Verified bool
	Reason   string      // why it is not verified; "" while it is, and for a rule that is not enabled
	Runs     *rules.Rule // what runs, where that means the same as Rule and was read before it; nil while nothing runs
	Cause    error       // the error that Reason tells; nil where it is not one
	NextDue  time.Time   // zero while it does not run
	LastRun  *ledger.Run // of any node; nil before the first
	RunSum   ledger.RunSum
	Overdue  time.Duration // since when the next firing should have started; 0 while it is not due, and for a rule that is not enabled
	Late     bool          // Overdue is more than a minute and the rule's interval
	Since    time.Time     // since when it is not verified, late, failing or degraded, whichever comes first here; zero = it is well, or is not enabled
	Warnings []string      // what does not keep it from running, each with its code

	Promoted   time.Time // a rule in shadow is live since; zero = it is not
	PromotedBy string

	lateness *lateness // nil of a rule that is not enabled
	leftOut  time.Time // The unit has dropped the firings up to this one (catch_up: none).

	unverified time.Time // since when it is not verified; zero while it is
}

// Status returns the status of every rule in every scope, by rule and scope as they were given. Where the ledger is out
// of reach it also returns the error, and the last runs are those of this node.
func (e *Engine) Status(ctx context.Context) ([]RuleStatus, error) {
	list, err := e.Standing(ctx)
	promotions, perr := e.opts.Ledger.Promotions(ctx)
	if perr != nil {
		err = errors.Join(err, fmt.Errorf("engine: reading the promotions: %w", perr))
	}
	promoted := make(map[string]ledger.Promotion, len(promotions))
	for _, p := range promotions {
		promoted[ledger.ScopeKey(p.Rule, p.Scope)] = p
	}
	judged, jerr := e.sums.get(ctx, e.opts.Ledger)
	if jerr != nil {
		err = errors.Join(err, fmt.Errorf("engine: summing up the runs: %w", jerr))
	}
	for i := range list {
		r := list[i].Rule
		list[i].RunSum = judged[ledger.ScopeKey(r.ID, r.Scope)]
		if p, ok := promoted[ledger.ScopeKey(r.ID, r.Scope)]; ok && r.Shadow {
			list[i].Promoted, list[i].PromotedBy = p.At, p.By
		}
	}
	return list, err
}

// Standing is Status for those who ask all the time: how the rules are by their last runs, without Judged, for which
// the ledger goes through all runs that it keeps, and without the promotions.
func (e *Engine) Standing(ctx context.Context) ([]RuleStatus, error) {
	runs, err := e.opts.Ledger.LastRuns(ctx)
	if err != nil {
		err = fmt.Errorf("engine: reading the last runs: %w", err)
	}
	last := make(map[string]*ledger.Run, len(runs))
	for i := range runs {
		last[ledger.ScopeKey(runs[i].Rule, runs[i].Scope)] = &runs[i]
	}
	progress, perr := e.readProgress(ctx)
	err = errors.Join(err, perr)
	now := e.opts.Clock.Now()
	term, _ := e.opts.Terms.Term()
	list := e.crew.status(now)
	for i := range list {
		s := &list[i]
		id := ledger.ScopeKey(s.Rule.ID, s.Rule.Scope)
		if run := last[id]; run != nil {
			s.LastRun = run
		}
		if s.lateness != nil {
			s.Overdue, s.Late = s.lateness.overdue(progress[id], s.leftOut, now, term)
		}
		s.Since = s.unwellSince(progress[id].Unwell, now)
	}
	return list, err
}

// unwellSince is since when the rule is what it is, if that is not well. failing is since when its runs are not ok.
func (s *RuleStatus) unwellSince(failing, now time.Time) time.Time {
	switch {
	case !s.Enabled:
		return time.Time{}
	case !s.Verified:
		return s.unverified
	case s.Late:
		return now.Add(-s.Overdue)
	case s.LastRun == nil || s.LastRun.Outcome != ledger.OutcomeFailed && s.LastRun.Outcome != ledger.OutcomeDegraded:
		return time.Time{}
	}
	return failing
}

// unitStatus is what a unit's loop tells of itself.
type unitStatus struct {
	mu       sync.Mutex
	verified bool
	since    time.Time // it is not verified; zero while it is
	reason   string
	cause    error
	columns  []row.Column // of the probe, when it was verified last
	next     time.Time
	warnings []string
	initial  []string // about `initial` of the watermark
	last     *ledger.Run
	leftOut  time.Time
}

func (s *unitStatus) fill(to *RuleStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to.Verified, to.Reason, to.Cause, to.LastRun, to.Warnings = s.verified, s.reason, s.cause, s.last, slices.Concat(s.warnings, s.initial)
	to.leftOut, to.unverified = s.leftOut, s.since
	if s.verified {
		to.NextDue = s.next
	} else if s.reason == "" {
		to.Reason = "not verified yet"
	}
}

// lastRun is the run of this node that ended last, or nil.
func (s *unitStatus) lastRun() *ledger.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// whyNot is why the rule is not verified; "" while it is, or has not been looked at.
func (s *unitStatus) whyNot() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

func (s *unitStatus) isVerified() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.verified
}

// setVerified tells whether that is news.
func (s *unitStatus) setVerified(columns []row.Column) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := !s.verified
	s.verified, s.since, s.reason, s.cause, s.columns = true, time.Time{}, "", nil, columns
	return news
}

func (s *unitStatus) seenColumns() []row.Column {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.columns
}

// setReason tells whether that is news.
func (s *unitStatus) setReason(cause error, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	reason := cause.Error()
	news := s.verified || s.reason != reason
	if s.since.IsZero() {
		s.since = now
	}
	s.verified, s.reason, s.cause = false, reason, cause
	return news
}

func (s *unitStatus) setWarnings(warnings []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings = warnings
}

// setInitial tells whether that is news.
func (s *unitStatus) setInitial(warnings []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := !slices.Equal(s.initial, warnings)
	s.initial = warnings
	return news
}

func (s *unitStatus) setNext(due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = due
}

func (s *unitStatus) setLeftOut(due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leftOut = due
}

func (s *unitStatus) ran(run *ledger.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = run
}

// sumsHold is how long the sums of runs are told as they were read: for them the ledger goes through all runs that it
// keeps.
const sumsHold = 5 * time.Second

// sums remembers what the ledger has summed up of the runs, by rule and scope.
type runSums struct {
	mu   sync.Mutex
	read time.Time
	by   map[string]ledger.RunSum
}

// get returns them as they were some seconds ago at most; those who ask at once wait for one answer. The map is only
// read.
func (s *runSums) get(ctx context.Context, l Ledger) (map[string]ledger.RunSum, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by != nil && time.Since(s.read) < sumsHold {
		return s.by, nil
	}
	list, err := l.RunSums(ctx)
	if err != nil {
		return nil, err
	}
	s.by, s.read = make(map[string]ledger.RunSum, len(list)), time.Now()
	for _, j := range list {
		s.by[ledger.ScopeKey(j.Rule, j.Scope)] = j
	}
	return s.by, nil
}
