package record

import (
	"time"

	"tallyman/internal/ledger"
)

// Clock is the state of the ledger's clock in a record.
type Clock struct {
	Term     int64     `json:"term"`
	Machine  time.Time `json:"machine"`            // the time that the clock shows
	Back     string    `json:"back,omitempty"`     // how far the clock went back
	Withheld string    `json:"withheld,omitempty"` // how far the clock is ahead of the time that nodes use
}

func newClock(s *ledger.ClockState, withheld time.Duration) Clock {
	c := Clock{Term: s.Number, Machine: micros(s.Machine)}
	if withheld > 0 {
		c.Withheld = withheld.String()
	}
	return c
}

const clockObject = "clock"

// TermBegun is the record of a term that began because the clock went back. began is the beginning of the term; back is
// how far the clock went back.
func TermBegun(was *ledger.ClockState, began time.Time, back time.Duration) *ledger.Change {
	before := newClock(was, was.Withheld)
	before.Machine = micros(began.Add(back))
	return &ledger.Change{
		Action: "clock.term", Object: clockObject, Before: state(before),
		After: state(Clock{Term: was.Number + 1, Machine: micros(began), Back: back.String()}),
	}
}

// ClockWithheld is the record of a clock that went ahead, or came back after that. withheld is how far the clock is
// ahead of the time that nodes use, until an operator confirms the clock.
func ClockWithheld(was *ledger.ClockState, withheld time.Duration) *ledger.Change {
	return &ledger.Change{Action: "clock.withhold", Object: clockObject, Before: state(newClock(was, was.Withheld)), After: state(newClock(was, withheld))}
}

// ClockConfirmed is the record of a clock that an operator has confirmed.
func ClockConfirmed(was *ledger.ClockState, reason string) *ledger.Change {
	return &ledger.Change{
		Action: "clock.confirm", Object: clockObject, Before: state(newClock(was, was.Withheld)), After: state(newClock(was, 0)), Reason: reason,
	}
}
