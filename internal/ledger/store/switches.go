package store

import (
	"context"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// Switches implements ledger.Switches.
func (s *Store) Switches(ctx context.Context) ([]ledger.Switch, error) {
	var row rows.Switch
	return list(ctx, s.db, "switches", nil, row.Columns(), func() (ledger.Switch, error) { return row.Switch(), nil })
}

// SetSwitch implements ledger.Switches.
func (s *Store) SetSwitch(ctx context.Context, who ledger.Author, set ledger.Switch) error {
	set.By = who.By
	return s.change(ctx, "set switch", who, func(tx Conn) (*ledger.Change, error) {
		var row rows.Switch
		before, err := one(ctx, tx, "switch", []any{set.Rule, set.Scope}, row.Columns(), func() (ledger.Switch, error) { return row.Switch(), nil })
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, "set-switch", rows.SwitchArgs(&set)...); err != nil {
			return nil, err
		}
		return record.SwitchSet(before, &set), count(ctx, tx, "switches")
	})
}

// Promote implements ledger.Shadows.
func (s *Store) Promote(ctx context.Context, who ledger.Author, rule, scope string, at time.Time) error {
	return s.change(ctx, "promote", who, func(tx Conn) (*ledger.Change, error) {
		var before rows.Promotion
		found, err := tx.One(ctx, "promotion", []any{rule, scope}, &before.At, &before.By)
		switch {
		case err != nil:
			return nil, err
		case !found:
			return nil, notKnown(rule, scope)
		case before.At != 0:
			return nil, nil //nolint:nilnil // it is live
		}
		_, err = tx.Exec(ctx, "promote", rule, scope, who.By, rows.Micros(at))
		return record.Promoted(&ledger.Promotion{Rule: rule, Scope: scope, At: at, By: who.By}), err
	})
}

// Demote implements ledger.Shadows.
func (s *Store) Demote(ctx context.Context, who ledger.Author, rule, scope string) error {
	return s.change(ctx, "demote", who, func(tx Conn) (*ledger.Change, error) {
		var before rows.Promotion
		if _, err := tx.One(ctx, "promotion", []any{rule, scope}, &before.At, &before.By); err != nil || before.At == 0 {
			return nil, err
		}
		_, err := tx.Exec(ctx, "promote", rule, scope, "", 0)
		return record.Demoted(before.Of(rule, scope)), err
	})
}

// Promotions implements ledger.Shadows.
func (s *Store) Promotions(ctx context.Context) ([]ledger.Promotion, error) {
	var p ledger.Promotion
	var at int64
	return list(ctx, s.db, "promotions", nil, []any{&p.Rule, &p.Scope, &at, &p.By}, func() (ledger.Promotion, error) {
		p.At = rows.Time(at)
		return p, nil
	})
}

// SeeNode implements ledger.Nodes.
func (s *Store) SeeNode(ctx context.Context, n ledger.Node) error {
	if _, err := s.db.Exec(ctx, "see-node", n.Name, n.Version, n.Rules, rows.Micros(n.Started), s.clock()); err != nil {
		return err
	}
	_, err := s.db.Exec(ctx, "drop-nodes", ledger.NodeGone.Microseconds(), s.clock())
	return err
}

// LeaveNode implements ledger.Nodes.
func (s *Store) LeaveNode(ctx context.Context, name string) error {
	_, err := s.db.Exec(ctx, "leave-node", name)
	return err
}

// Nodes implements ledger.Nodes.
func (s *Store) Nodes(ctx context.Context) ([]ledger.Node, error) {
	var row rows.Node
	args := []any{ledger.NodeGone.Microseconds(), s.clock()}
	return list(ctx, s.db, "nodes", args, row.Columns(), func() (ledger.Node, error) { return row.Node(), nil })
}
