package ledger

import (
	"context"
	"time"
)

// Operations keeps what people change while everything runs, and how nodes learn of it.
type Operations interface {
	Numbers
	Shadows
	Tokens
	Switches
	Nodes
	Audit
	Silences
}

// Numbers grow with every change of what nodes keep in memory, one for each kind. A node asks for them all the time, and reads again what
// has changed: so what is changed on one node is in force on all of them within a second.
type Numbers interface {
	Numbers(ctx context.Context) (map[string]int64, error)
}

// Shadows keeps which rules in shadow are live.
type Shadows interface {
	// Promote records that the rule, which the files have in shadow, is live in the scope from its next run on. It
	// changes nothing where that is recorded already. ErrNotFound before Register.
	Promote(ctx context.Context, who Author, rule, scope string, at time.Time) error
	// Demote takes that back. It changes nothing where it was not recorded.
	Demote(ctx context.Context, who Author, rule, scope string) error
	// Promotions returns the rules and scopes that were promoted, by rule and scope.
	Promotions(ctx context.Context) ([]Promotion, error)
}

// Promotion is a rule that is live in a scope although its file has it in shadow.
type Promotion struct {
	Rule, Scope string
	At          time.Time
	By          string
}

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

// Nodes keeps who runs, and with which rules, so that nodes on different versions are seen. Whoever was silent for NodeGone is gone.
type Nodes interface {
	// SeeNode records that the node is there; Seen is the ledger's to say.
	SeeNode(ctx context.Context, n Node) error
	// LeaveNode records that the node has stopped.
	LeaveNode(ctx context.Context, name string) error
	// Nodes returns those that are there, by name.
	Nodes(ctx context.Context) ([]Node, error)
}

// NodeGone is how long a node may be silent.
const NodeGone = time.Minute

// Node is one node of the cluster.
type Node struct {
	Name    string
	Version string // of the program
	Rules   string // a hash of the rules that it runs
	Started time.Time
	Seen    time.Time
}
