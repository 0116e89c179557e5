package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// Switches implements ledger.Switches.
func (l *Ledger) Switches(ctx context.Context) ([]ledger.Switch, error) {
	return query(ctx, l, "switches", scanSwitch)
}

func scanSwitch(r pgx.CollectableRow) (ledger.Switch, error) {
	var s rows.Switch
	err := r.Scan(s.Columns()...)
	return s.Switch(), err
}

// SetSwitch implements ledger.Switches.
func (l *Ledger) SetSwitch(ctx context.Context, who ledger.Author, s ledger.Switch) error {
	s.By = who.By
	return l.change(ctx, "set switch", who, func(tx pgx.Tx) (*ledger.Change, error) {
		before, err := one(ctx, tx, "switch", scanSwitch, s.Rule, s.Scope)
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, queries.Get("set-switch"), rows.SwitchArgs(&s)...); err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, queries.Get("count-switches"))
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
	err := l.inTx(ctx, what, func(tx pgx.Tx) error {
		if what == "thaw" {
			if _, err := tx.Exec(ctx, queries.Get("thaw-findings"), rule, scope, rows.Micros(due)); err != nil {
				return err
			}
		}
		tag, err := tx.Exec(ctx, queries.Get("skip"), rule, scope, rows.Micros(due))
		n = tag.RowsAffected()
		if err != nil || n == 0 {
			return err
		}
		if what == "thaw" {
			if _, err := tx.Exec(ctx, queries.Get("thaw"), rule, scope, rows.Micros(due)); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, queries.Get("record-skip"), rule, scope, rows.Micros(due), node, reason, l.clock())
		return err
	})
	if err == nil && n == 0 {
		_, err = l.Scope(ctx, rule, scope)
	}
	return err
}

// SeeNode implements ledger.Nodes.
func (l *Ledger) SeeNode(ctx context.Context, n ledger.Node) error {
	if _, err := l.exec(ctx, "see-node", n.Name, n.Version, n.Rules, rows.Micros(n.Started), l.clock()); err != nil {
		return err
	}
	_, err := l.exec(ctx, "drop-nodes", ledger.NodeGone.Microseconds(), l.clock())
	return err
}

// LeaveNode implements ledger.Nodes.
func (l *Ledger) LeaveNode(ctx context.Context, name string) error {
	_, err := l.exec(ctx, "leave-node", name)
	return err
}

// Nodes implements ledger.Nodes.
func (l *Ledger) Nodes(ctx context.Context) ([]ledger.Node, error) {
	return query(ctx, l, "nodes", func(r pgx.CollectableRow) (ledger.Node, error) {
		var n rows.Node
		err := r.Scan(n.Columns()...)
		return n.Node(), err
	}, ledger.NodeGone.Microseconds(), l.clock())
}
