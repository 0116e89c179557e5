// Package finding is the life of a finding as a pure function: (state before, rows of a run, rule, time)
// → (state after, what to say). No I/O, no clock.
package finding

import "time"

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
