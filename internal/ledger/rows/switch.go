package rows

import (
	"tallyman/internal/ledger"
)

// Switch is a row of switches.
type Switch struct {
	Rule, Scope   string
	State         int16
	Until, At     int64
	Reason, Actor string
}

// Columns returns pointers to the fields in the order of the columns that the query of switches names.
func (s *Switch) Columns() []any {
	return []any{&s.Rule, &s.Scope, &s.State, &s.Until, &s.At, &s.Reason, &s.Actor}
}

// Switch is the row as the ledger's callers see it.
func (s *Switch) Switch() ledger.Switch {
	return ledger.Switch{
		Rule: s.Rule, Scope: s.Scope, State: ledger.SwitchState(s.State), Until: Time(s.Until), At: Time(s.At), Reason: s.Reason, By: s.Actor,
	}
}

// SwitchArgs returns the columns that the query set-switch takes.
func SwitchArgs(s *ledger.Switch) []any {
	return []any{s.Rule, s.Scope, int16(s.State), Micros(s.Until), Micros(s.At), Text(s.Reason), Text(s.By)}
}

// Node is a row of nodes.
type Node struct {
	Name, Version, Rules string
	Started, Seen        int64
}

// Columns returns pointers to the fields in the order of the columns that the query of nodes names.
func (n *Node) Columns() []any {
	return []any{&n.Name, &n.Version, &n.Rules, &n.Started, &n.Seen}
}

// Node is the row as the ledger's callers see it.
func (n *Node) Node() ledger.Node {
	return ledger.Node{Name: n.Name, Version: n.Version, Rules: n.Rules, Started: Time(n.Started), Seen: Time(n.Seen)}
}

// Promotion is what a row of rule_scopes says of a promotion; At 0 = there is none.
type Promotion struct {
	At int64
	By string
}

// Of is the promotion of that rule and scope.
func (p *Promotion) Of(rule, scope string) *ledger.Promotion {
	return &ledger.Promotion{Rule: rule, Scope: scope, At: Time(p.At), By: p.By}
}
