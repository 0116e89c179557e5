package finding

import "time"

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
