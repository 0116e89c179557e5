package finding

import (
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
	Episode      time.Time     // pending: due time of the run that saw it first; firing: of the one that opened it
	SeenClock    time.Duration // the scope's observed clock when it was first seen; `for` counts from here
	AbsentSince  time.Time     // firing: due time of the last run that saw it; zero while it is present
	FiringSince  time.Time     // due time; zero while pending
	Priority     int           // as last notified
	LastNotified time.Time     // due time of the last firing notice
	Ordinal      int           // number of firing notices so far; 0 of a firing one = it was held back from the first
	NoticeID     string        // the last firing notice, which a resolution repeats; "" while none was made
	Group        string        // key of its group; "" where the rule does not group
	Silenced     string        // what the last run that saw it had to tell was held back, by whom (see Hold); "" = nothing was
}

// Scope is what is kept of one rule in one scope between runs.
type Scope struct {
	LastDue   time.Time     // of the last run, failed or not
	LastOKDue time.Time     // of the last run that saw the source's rows
	Thawed    time.Time     // the last firing that was left out while the rule was disabled; zero before the first
	Clock     time.Duration // observed time: sum of the spans between runs, each at most the schedule's shortest interval
}

// Since returns the due time of the last run, or of the last firing that was left out while the rule was disabled, whichever is later.
func (s *Scope) Since() time.Time { return latest(s.LastDue, s.Thawed) }

// SinceOK is Since for the last run that saw the source's rows.
func (s *Scope) SinceOK() time.Time { return latest(s.LastOKDue, s.Thawed) }

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Policy is what a rule says about the life of its findings.
type Policy struct {
	For            time.Duration // observed time that a finding waits before it fires
	KeepFiringFor  time.Duration // how long it outlives the last run that saw it
	RepeatInterval time.Duration // between reminders; 0 = none
	Shortest       time.Duration // the schedule's shortest interval: what one span between runs counts at most
	KeepLast       bool          // no_data: keep_last; a run without any row leaves every finding as it was
}

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
)

// decide is the heart of the state machine: what a run at due, with the observed clock at clock, makes of a
// finding that it saw at the priority. A state without Phase is a new finding. It returns the state
// after, and why it is told.
func (p Policy) decide(st State, priority int, clock time.Duration, due time.Time) (State, Kind) {
	if st.Phase == 0 {
		st.Phase, st.Episode, st.SeenClock = Pending, due, clock
	}
	st.Silenced = ""
	if st.Phase == Pending {
		if clock-st.SeenClock < p.For {
			return st, None
		}
		st.Phase, st.Episode, st.FiringSince = Firing, due, due
		return st.told(priority, due), Fire
	}
	if !st.AbsentSince.IsZero() {
		st.AbsentSince = time.Time{} // back in time: the episode goes on
	}
	switch {
	case st.Ordinal == 0:
		return st.told(priority, due), Fire // all this time it was held back
	case priority > st.Priority:
		return st.told(priority, due), Rise
	case p.RepeatInterval > 0 && due.Sub(st.LastNotified) >= p.RepeatInterval:
		return st.told(priority, due), Remind
	}
	return st, None
}

// told records one more firing notice. Its id comes with the notice; see Result.Told.
func (st State) told(priority int, due time.Time) State {
	st.Priority, st.LastNotified = priority, due
	st.Group = "" // it speaks for itself, whatever it belonged to before its rule was changed
	st.Ordinal++
	return st
}

// hold is the state after a run that had something to tell of the finding, which is held back by whoever by names: everything has happened
// but that it was told. So the next run decides anew whether there is something to tell, and tells it unless it is held back, too.
func (st State) hold(before *State, by string) State {
	st.Priority, st.LastNotified, st.Ordinal = before.Priority, before.LastNotified, before.Ordinal
	st.Group, st.NoticeID = before.Group, before.NoticeID
	st.Silenced = by
	return st
}

// miss is what a run makes of a finding that it did not see. lastOK is the due time of the last run before that
// saw the source's rows.
func (p Policy) miss(st State, lastOK, due time.Time) (after State, gone bool) {
	if st.Phase == Pending {
		return st, true
	}
	if st.AbsentSince.IsZero() {
		st.AbsentSince = lastOK
	}
	return st, due.Sub(st.AbsentSince) >= p.KeepFiringFor
}
