package enginetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"tallyman/internal/ledger"
)

// Switches returns every switch, by rule and scope.
func (l *Ledger) Switches(ctx context.Context) ([]ledger.Switch, error) {
	leave, err := l.enter(ctx, "Switches")
	if err != nil {
		return nil, err
	}
	defer leave()
	return slices.SortedFunc(maps.Values(l.switches), func(a, b ledger.Switch) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Scope, b.Scope))
	}), nil
}

// SetSwitch replaces a switch.
func (l *Ledger) SetSwitch(ctx context.Context, who ledger.Author, s ledger.Switch) error {
	leave, err := l.enter(ctx, "SetSwitch")
	if err != nil {
		return err
	}
	defer leave()
	s.By = who.By
	l.switches[scopeID{s.Rule, s.Scope}] = s
	return nil
}

// SeeNode records that a node is there.
func (l *Ledger) SeeNode(ctx context.Context, n ledger.Node) error {
	leave, err := l.enter(ctx, "SeeNode")
	if err != nil {
		return err
	}
	defer leave()
	n.Seen = time.Now()
	l.nodes[n.Name] = n
	return nil
}

// LeaveNode records that it is not any more.
func (l *Ledger) LeaveNode(ctx context.Context, name string) error {
	leave, err := l.enter(ctx, "LeaveNode")
	if err != nil {
		return err
	}
	defer leave()
	delete(l.nodes, name)
	return nil
}

// Nodes returns the nodes that are there, by name.
func (l *Ledger) Nodes(ctx context.Context) ([]ledger.Node, error) {
	leave, err := l.enter(ctx, "Nodes")
	if err != nil {
		return nil, err
	}
	defer leave()
	maps.DeleteFunc(l.nodes, func(_ string, n ledger.Node) bool { return time.Since(n.Seen) > ledger.NodeGone })
	return slices.SortedFunc(maps.Values(l.nodes), func(a, b ledger.Node) int { return cmp.Compare(a.Name, b.Name) }), nil
}
