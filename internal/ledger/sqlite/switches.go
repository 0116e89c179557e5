package sqlite

import (
	"context"
	"database/sql"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// Switches implements ledger.Switches.
func (l *Ledger) Switches(ctx context.Context) ([]ledger.Switch, error) {
	var out []ledger.Switch
	var s rows.Switch
	err := each(ctx, l.read, "switches", nil, s.Columns(), func() error {
		out = append(out, s.Switch())
		return nil
	})
	if err != nil {
		return nil, failed("switches", err)
	}
	return out, nil
}

// SetSwitch implements ledger.Switches.
func (l *Ledger) SetSwitch(ctx context.Context, who ledger.Author, s ledger.Switch) error {
	s.By = who.By
	return l.change(ctx, "set switch", who, func(tx *sql.Tx) (*ledger.Change, error) {
		var row rows.Switch
		there, err := one(ctx, tx, "switch", []any{s.Rule, s.Scope}, row.Columns()...)
		if err != nil {
			return nil, err
		}
		var before *ledger.Switch
		if there {
			old := row.Switch()
			before = &old
		}
		if _, err := exec(ctx, tx, "set-switch", rows.SwitchArgs(&s)...); err != nil {
			return nil, err
		}
		_, err = exec(ctx, tx, "count-switches")
		return record.SwitchSet(before, &s), err
	})
}

// Thaw implements ledger.Firings.
func (l *Ledger) Thaw(ctx context.Context, rule, scope string, due time.Time, node, reason string) error {
	return l.leaveOut(ctx, "thaw", rule, scope, due, node, reason)
}

// leaveOut moves the last firing on past one that does not run, and records why. With thaw no time has passed for the findings.
func (l *Ledger) leaveOut(ctx context.Context, what, rule, scope string, due time.Time, node, reason string) error {
	var n int64
	err := l.inTx(ctx, what, func(tx *sql.Tx) error {
		var err error
		if what == "thaw" {
			if _, err = exec(ctx, tx, "thaw-findings", rule, scope, rows.Micros(due)); err != nil {
				return err
			}
		}
		if n, err = exec(ctx, tx, "skip", rule, scope, rows.Micros(due)); err != nil || n == 0 {
			return err
		}
		if what == "thaw" {
			if _, err = exec(ctx, tx, "thaw", rule, scope, rows.Micros(due)); err != nil {
				return err
			}
		}
		_, err = exec(ctx, tx, "record-skip", rule, scope, rows.Micros(due), node, reason, l.clock())
		return err
	})
	if err == nil && n == 0 {
		_, err = l.Scope(ctx, rule, scope)
	}
	return err
}

// SeeNode implements ledger.Nodes.
func (l *Ledger) SeeNode(ctx context.Context, n ledger.Node) error {
	return l.inTx(ctx, "see node", func(tx *sql.Tx) error {
		if _, err := exec(ctx, tx, "see-node", n.Name, n.Version, n.Rules, rows.Micros(n.Started), l.clock()); err != nil {
			return err
		}
		_, err := exec(ctx, tx, "drop-nodes", ledger.NodeGone.Microseconds(), l.clock())
		return err
	})
}

// LeaveNode implements ledger.Nodes.
func (l *Ledger) LeaveNode(ctx context.Context, name string) error {
	_, err := l.exec(ctx, "leave-node", name)
	return err
}

// Nodes implements ledger.Nodes.
func (l *Ledger) Nodes(ctx context.Context) ([]ledger.Node, error) {
	var out []ledger.Node
	var n rows.Node
	err := each(ctx, l.read, "nodes", []any{ledger.NodeGone.Microseconds(), l.clock()}, n.Columns(), func() error {
		out = append(out, n.Node())
		return nil
	})
	if err != nil {
		return nil, failed("nodes", err)
	}
	return out, nil
}
