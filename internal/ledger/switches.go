package ledger

import (
	"context"
	"time"
)

// Switches keeps what operators have switched on and off beside the rule files, so that no reload and no restart undoes it. Every change
// raises the number "switches".
type Switches interface {
	// Switches returns every switch, by rule and scope: those that were cleared or have ended too, since they tell when the rule was
	// free again.
	Switches(ctx context.Context) ([]Switch, error)
	// SetSwitch replaces the switch of the rule and scope. The rule need not be known. It is by who asks.
	SetSwitch(ctx context.Context, who Author, s Switch) error
}

// Every stands for all: as a switch's rule for every rule, as its scope for the whole rule.
const Every = "*"

// SwitchState is what a switch says.
type SwitchState int16

// The states. A cleared switch leaves the rule to what its file says.
const (
	SwitchCleared SwitchState = 0
	SwitchOn      SwitchState = 1
	SwitchOff     SwitchState = 2
)

// Switch is what an operator has switched.
type Switch struct {
	Rule, Scope string
	State       SwitchState
	Until       time.Time // when it ends by itself; zero = it does not
	At          time.Time // when it was set
	Reason      string
	By          string
}

// InForce tells whether the switch says anything at that time.
func (s *Switch) InForce(now time.Time) bool {
	return s.State != SwitchCleared && (s.Until.IsZero() || now.Before(s.Until))
}

// Free is when the switch was touched last, by an operator or by its own end: a rule that it held back has been free since then, or
// longer.
func (s *Switch) Free(now time.Time) time.Time {
	if s.State != SwitchCleared && !s.Until.IsZero() && s.Until.After(s.At) && !now.Before(s.Until) {
		return s.Until
	}
	return s.At
}
