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

// RuleStatus is the status of a rule in a scope.
type RuleStatus struct {
	Rule    *rules.Rule
	Enabled bool           // Whether the rule runs, by its switch or else by its file.
	Switch  *ledger.Switch // The switch that overrides the file. Nil means the file decides.

	Verified bool
	Reason   string // Why the rule is not verified. Empty while the rule is verified or not enabled.
	// The rule that the unit runs: it means the same as Rule but may be read earlier. Nil while no unit runs.
	Runs    *rules.Rule
	Cause   error       // The error behind Reason. Nil where there is none.
	NextDue time.Time   // Zero while the rule does not run.
	LastRun *ledger.Run // The last run on any node. Nil before the first.
	RunSum  ledger.RunSum
	// How long ago the next firing should have started. 0 while no firing is due, or the rule is not enabled.
	Overdue time.Duration
	Late    bool // Overdue is more than a minute plus the rule's interval, see lateAfter.
	// When the rule became unverified, late, failing or degraded; the first of these states that applies counts. Zero
	// means the rule is well or not enabled.
	Since    time.Time
	Warnings []string // Problems that do not stop the rule, each with its code.

	Promoted   time.Time // When a rule in shadow was made live. Zero means never.
	PromotedBy string

	lateness *lateness // Nil for a rule that is not enabled.
	leftOut  time.Time // The unit has dropped the firings up to this time (catch_up: none).

	unverified time.Time // When the rule became unverified. Zero while the rule is verified.
}

// Status returns the status of every rule in every scope, in the order of the rules. Where the ledger is out of reach
// it returns an error as well, and the last runs are this node's.
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

// Standing is Status for callers that ask often. Standing leaves out the promotions and RunSum: for RunSum the ledger
// must read all runs that it keeps.
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

// unwellSince returns the value of Since. failing is when the rule's runs stopped being ok.
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

// unitStatus is the part of RuleStatus that a unit's loop sets and other goroutines read.
type unitStatus struct {
	mu       sync.Mutex
	verified bool
	since    time.Time // When the rule became unverified. Zero while the rule is verified.
	reason   string
	cause    error
	columns  []row.Column // The columns of the probe when the rule was last verified.
	next     time.Time
	warnings []string
	initial  []string // Warnings about the watermark's initial.
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

// lastRun returns this node's last run that has ended, or nil.
func (s *unitStatus) lastRun() *ledger.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// whyNot returns why the rule is not verified. Empty means the rule is verified or has not been checked yet.
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

// setVerified marks the rule as verified. setVerified returns whether the rule was not verified before.
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

// setReason marks the rule as not verified. setReason returns whether the reason is new.
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

// setInitial sets the warnings about initial. setInitial returns whether they have changed.
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

// ran keeps the last run. It returns whether the run succeeded after a failed one.
func (s *unitStatus) ran(run *ledger.Run) (recovered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	recovered = s.last != nil && s.last.Outcome == ledger.OutcomeFailed && run.Outcome != ledger.OutcomeFailed
	s.last = run
	return recovered
}

// sumsHold is how long sums of runs are reused. Reading them is costly: the ledger goes through all runs that it keeps.
const sumsHold = 5 * time.Second

// runSums caches the ledger's sums of runs, keyed by ledger.ScopeKey.
type runSums struct {
	mu   sync.Mutex
	read time.Time
	by   map[string]ledger.RunSum
}

// get returns sums that are at most sumsHold old. Concurrent callers share one question to the ledger. The caller must
// not change the map.
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
