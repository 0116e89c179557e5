package finding

import (
	"strings"
	"time"
)

// Phase is where a finding stands.
type Phase uint8

// The phases.
const (
	Pending Phase = 1 // seen, but not yet for as long as `for` asks
	Firing  Phase = 2
)

// State is what is kept of one finding between runs. It changes only on a transition: a finding that merely
// goes on costs no write.
type State struct {
	Key          string
	Phase        Phase
	Term         int64         // the clock term of Episode
	Episode      time.Time     // pending: due time of the run that saw it first; firing: of the one that opened it
	SinceClock   time.Duration // the observed clock when it was first seen, and of an absent one when it was first missed; `for` and `keep_firing_for` count from here
	AbsentSince  time.Time     // firing: due time of the last run that saw it; zero while it is present
	FiringSince  time.Time     // due time; zero while pending
	Priority     int           // as last notified
	Watched      string        // as last notified; see SeenRow.Watched
	LastNotified time.Time     // due time of the last firing notice
	Ordinal      int           // number of firing notices so far; 0 of a firing one = it was held back from the first, or is a Baseline
	NoticeID     string        // the last firing notice, which a resolution repeats; "" while none was made
	Group        string        // key of its group; "" where the rule does not group
	Silenced     string        // what the last run that saw it had to tell was held back, by whom (see Hold); "" = nothing was
	Baseline     bool          // its row was there at the first run, which took all rows as known, and no notice has told the finding since
}

// Scope is what is kept of one rule in one scope between runs.
type Scope struct {
	Term      int64         // the clock term of the last run or skipped firing; in a run, of the run
	LastDue   time.Time     // of the last run, failed or not
	LastOKDue time.Time     // of the last run that saw the source's rows
	Thawed    time.Time     // the last firing that was left out while the rule was disabled; zero before the first
	Clock     time.Duration // observed time: sum of the spans between runs, each at most the schedule's shortest interval
}

// Since returns the due time of the last run, or of the last firing that was left out while the rule was disabled, whichever is later.
func (s *Scope) Since() time.Time {
	if s.Thawed.After(s.LastDue) {
		return s.Thawed
	}
	return s.LastDue
}

// Turn is the scope as a run of that clock term takes it up. Times of an earlier term may lie ahead of the term's, which began at that time: they
// count as its beginning.
func (s *Scope) Turn(term int64, began, due time.Time) Scope {
	turned := *s
	for _, at := range []*time.Time{&turned.LastDue, &turned.LastOKDue, &turned.Thawed} {
		*at = Turned(*at, s.Term < term, began, due)
	}
	turned.Term = term
	return turned
}

// Turned is a time as a run of a clock term that began at that time takes it up: one of an earlier term, or one that lies ahead of the run's due
// time and so must be of an earlier term, is the term's beginning at the latest.
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
	Shortest       time.Duration // the schedule's shortest interval: what one span between runs counts at most
	KeepLast       bool          // no_data: keep_last; a run without any row leaves every finding as it was
	Baseline       bool          // first_run: baseline; the first run that sees the source's rows takes them as known
}

// IsFirst tells whether no run of the rule in the scope has seen the source's rows yet. The passes of one firing are one run.
func (s *Scope) IsFirst() bool { return s.LastOKDue.IsZero() }

// pass moves the scope on by one run.
func (p Policy) pass(s Scope, due time.Time) Scope {
	if !s.LastDue.IsZero() && due.After(s.LastDue) {
		s.Clock += max(min(due.Sub(s.Since()), p.Shortest), 0)
	}
	s.LastDue = due
	return s
}

// Kind is why a finding is told.
type Kind uint8

// The kinds. None is a row that changes nothing.
const (
	None   Kind = iota
	Fire        // it has lasted for as long as `for` asks
	Remind      // repeat_interval has passed since it was told last
	Rise        // its priority is higher than when it was told last
	Join        // a group: one more finding fires in it
	Differ      // a watched column has another value than when it was told last
)

// decide is the heart of the state machine: what a run at due, with the term and the observed clock of now, makes of a
// finding that it saw. A state without Phase is a new finding. It returns the state
// after, and why it is told.
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
		return st.told(row, due), Fire
	}
	if !st.AbsentSince.IsZero() {
		st.AbsentSince = time.Time{} // back in time: the episode goes on
	}
	st = st.watching(row.Watched)
	switch {
	case st.Ordinal == 0 && !st.Baseline:
		return st.told(row, due), Fire // all this time it was held back
	case row.Priority > st.Priority:
		return st.told(row, due), Rise
	case row.Watched != st.Watched:
		return st.told(row, due), Differ
	case p.RepeatInterval > 0 && !st.Baseline && due.Sub(st.LastNotified) >= p.RepeatInterval:
		return st.told(row, due), Remind
	}
	return st, None
}

// watching is the state under a rule that watches other columns than when the finding was told: what they show now is no news.
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

// told records one more firing notice. Its id comes with the notice; see Result.Told.
func (st State) told(row *SeenRow, due time.Time) State {
	st.Priority, st.Watched, st.LastNotified, st.Baseline = row.Priority, row.Watched, due, false
	st.Group = "" // it speaks for itself, whatever it belonged to before its rule was changed
	st.Ordinal++
	return st
}

// hold is the state after a run that had something to tell of the finding, which is held back by whoever by names: everything has happened
// but that it was told. So the next run decides anew whether there is something to tell, and tells it unless it is held back, too.
func (st State) hold(before *State, by string) State {
	st.Priority, st.Watched, st.LastNotified, st.Ordinal = before.Priority, before.Watched, before.LastNotified, before.Ordinal
	st.Group, st.NoticeID, st.Baseline = before.Group, before.NoticeID, before.Baseline
	st.Silenced = by
	return st
}

// miss is what a run, with the observed clock at clock, makes of a finding that the run did not see. lastSeen is the due time of the last
// run before that told which rows there are.
func (p Policy) miss(st State, clock time.Duration, lastSeen time.Time) (after State, gone bool) {
	if st.Phase == Pending {
		return st, true
	}
	if st.AbsentSince.IsZero() {
		st.AbsentSince, st.SinceClock = lastSeen, clock
	}
	return st, clock-st.SinceClock >= p.KeepFiringFor
}
