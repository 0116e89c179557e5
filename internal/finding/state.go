package finding

import (
	"strings"
	"time"
)

// Phase is the phase of a finding's life.
type Phase uint8

// The phases.
const (
	Pending Phase = 1 // The finding was seen, but has not lasted as long as the rule's `for` asks.
	Firing  Phase = 2
)

// State is what the ledger keeps of one finding between runs. It changes only on a transition. A finding that goes on
// unchanged costs no write.
type State struct {
	Key   string
	Phase Phase
	Term  int64 // the clock term of Episode
	// Pending: due time of the run that saw the finding first. Firing: due time of the run that opened it.
	Episode time.Time
	// The observed clock when the finding was first seen; while it is absent, when it was first missed. `for` and
	// `keep_firing_for` count from here.
	SinceClock   time.Duration
	AbsentSince  time.Time // firing: due time of the last run that saw the finding; zero while it is present
	FiringSince  time.Time // due time; zero while pending
	Priority     int       // priority in the last notice
	Watched      string    // SeenRow.Watched in the last notice
	LastNotified time.Time // due time of the last firing notice
	// Number of firing notices so far. 0 while firing = the finding has been held back from the start, or is a
	// Baseline.
	Ordinal  int
	NoticeID string // id of the last firing notice, which a resolution refers to; "" = no notice yet
	Group    string // key of the finding's group; "" = the rule does not group
	// Ids of the silences that held back the notice of the last run that saw the finding (see Run.Hold); "" = nothing
	// was held back.
	Silenced string
	// The first run took all rows as known, including this finding's, and no notice has reported the finding since.
	Baseline bool
}

// Scope is what the ledger keeps of one rule in one scope between runs.
type Scope struct {
	Term      int64     // the clock term of the last run or skipped firing; during a run, the clock term of the run
	LastDue   time.Time // due time of the last run, failed or not
	LastOKDue time.Time // due time of the last run that saw the source's rows
	Thawed    time.Time // due time of the last firing that fell into the time when the rule was disabled; zero = none
	// Observed time: the sum of the spans between runs. Each span counts at most the schedule's shortest interval, so
	// that a long outage does not count as observed.
	Clock time.Duration
}

// Since returns the later of two due times: the due time of the last run, and the due time of the last firing that was
// left out while the rule was disabled.
func (s *Scope) Since() time.Time {
	if s.Thawed.After(s.LastDue) {
		return s.Thawed
	}
	return s.LastDue
}

// Turn returns the scope for a run of the given clock term, which began at began. Times of an earlier term may lie
// ahead of this term's clock. Turn replaces such times by began.
func (s *Scope) Turn(term int64, began, due time.Time) Scope {
	turned := *s
	for _, at := range []*time.Time{&turned.LastDue, &turned.LastOKDue, &turned.Thawed} {
		*at = Turned(*at, s.Term < term, began, due)
	}
	turned.Term = term
	return turned
}

// Turned returns a time for a run of the clock term that began at began. A time of an earlier term must not be later
// than began. A time ahead of the run's due time must be of an earlier term, so the same holds.
func Turned(at time.Time, earlier bool, began, due time.Time) time.Time {
	if (earlier || at.After(due)) && at.After(began) && !began.IsZero() {
		return began
	}
	return at
}

// Policy is what a rule says about the life of its findings.
type Policy struct {
	For            time.Duration // observed time that a finding waits before it fires
	KeepFiringFor  time.Duration // observed time that a firing finding is kept after the first run without it
	RepeatInterval time.Duration // between reminders; 0 = none
	Shortest       time.Duration // the schedule's shortest interval: the most that one span between runs counts
	KeepLast       bool          // no_data: keep_last. A run without any row leaves every finding unchanged.
	Baseline       bool          // first_run: baseline. The first run that sees the source's rows takes them as known.
}

// IsFirst tells whether no run of the rule in the scope has seen the source's rows yet. The passes of one firing
// count as one run.
func (s *Scope) IsFirst() bool { return s.LastOKDue.IsZero() }

// pass advances the scope by one run.
func (p Policy) pass(s Scope, due time.Time) Scope {
	if !s.LastDue.IsZero() && due.After(s.LastDue) {
		s.Clock += max(min(due.Sub(s.Since()), p.Shortest), 0)
	}
	s.LastDue = due
	return s
}

// Kind is why a finding gets a notice.
type Kind uint8

// The kinds. None means no notice.
const (
	None   Kind = iota
	Fire        // the finding has lasted for as long as `for`
	Remind      // repeat_interval has passed since the last notice
	Rise        // the priority is higher than in the last notice
	Join        // groups only: one more finding fires in the group
	Differ      // a watched column has another value than in the last notice
)

// decide is the core of the state machine. It changes the state of a finding that the run at due saw. now has the term
// and the observed clock. A state with Phase 0 is a new finding. decide returns the state after the run, and why the
// finding gets a notice.
func (p Policy) decide(st State, row *SeenRow, now *Scope, due time.Time) (State, Kind) {
	if st.Phase == 0 {
		st.Phase, st.Term, st.Episode, st.SinceClock, st.Baseline = Pending, now.Term, due, now.Clock, p.Baseline
	}
	st.Silenced = ""
	if st.Phase == Pending {
		if now.Clock-st.SinceClock < p.For {
			return st, None
		}
		st.Phase, st.Term, st.Episode, st.FiringSince = Firing, now.Term, due, due
		if st.Baseline {
			st.Priority, st.Watched = row.Priority, row.Watched
			return st, None
		}
		return st.withNotice(row, due), Fire
	}
	if !st.AbsentSince.IsZero() {
		st.AbsentSince = time.Time{} // seen again before keep_firing_for was over: the episode goes on
	}
	st = st.watching(row.Watched)
	switch {
	case st.Ordinal == 0 && !st.Baseline:
		return st.withNotice(row, due), Fire // held back until now
	case row.Priority > st.Priority:
		return st.withNotice(row, due), Rise
	case row.Watched != st.Watched:
		return st.withNotice(row, due), Differ
	case p.RepeatInterval > 0 && !st.Baseline && due.Sub(st.LastNotified) >= p.RepeatInterval:
		return st.withNotice(row, due), Remind
	}
	return st, None
}

// watching adapts a state to a rule that now watches other columns than at the last notice. The present values then
// count as known.
func (st State) watching(watched string) State {
	if watchedColumns(st.Watched) != watchedColumns(watched) {
		st.Watched = watched
	}
	return st
}

func watchedColumns(watched string) string {
	columns, _, _ := strings.Cut(watched, " ")
	return columns
}

// withNotice records one more firing notice. Result.Told sets its id once the notice exists.
func (st State) withNotice(row *SeenRow, due time.Time) State {
	st.Priority, st.Watched, st.LastNotified, st.Baseline = row.Priority, row.Watched, due, false
	st.Group = "" // a notice of its own, even if the finding belonged to a group before the rule changed
	st.Ordinal++
	return st
}

// hold undoes what a notice would have recorded, because silences hold the notice back; by has their ids. All other
// changes stay. So the next run decides again whether there is news, and the finding gets its notice unless it is
// held back again.
func (st State) hold(before *State, by string) State {
	st.Priority, st.Watched, st.LastNotified, st.Ordinal = before.Priority, before.Watched, before.LastNotified, before.Ordinal
	st.Group, st.NoticeID, st.Baseline = before.Group, before.NoticeID, before.Baseline
	st.Silenced = by
	return st
}

// miss returns the new state of a finding that the run did not see. clock is the observed clock at the run. lastSeen is
// the due time of the last run that saw the source's rows. gone tells whether the finding is over.
func (p Policy) miss(st State, clock time.Duration, lastSeen time.Time) (after State, gone bool) {
	if st.Phase == Pending {
		return st, true
	}
	if st.AbsentSince.IsZero() {
		st.AbsentSince, st.SinceClock = lastSeen, clock
	}
	return st, clock-st.SinceClock >= p.KeepFiringFor
}
