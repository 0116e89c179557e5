package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// change runs do, which changes what operators set, and writes the record that do returns, in one transaction. Of nil nothing is recorded:
// nothing was changed.
func (l *Ledger) change(ctx context.Context, what string, who ledger.Author, do func(*sql.Tx) (*ledger.Change, error)) error {
	recorded := false
	err := l.inTx(ctx, what, func(tx *sql.Tx) error {
		c, err := do(tx)
		if err != nil || c == nil {
			return err
		}
		l.step(ledger.StepChanged)
		if err := l.addRecord(ctx, tx, who, c); err != nil {
			return err
		}
		recorded = true
		l.step(ledger.StepRecorded)
		return nil
	})
	if recorded && err == nil {
		l.step(ledger.StepCommitted)
	}
	return err
}

// addRecord writes the record of what the transaction has changed.
func (l *Ledger) addRecord(ctx context.Context, tx *sql.Tx, who ledger.Author, c *ledger.Change) error {
	if err := who.Check(); err != nil {
		return err
	}
	c.By, c.Via = who.By, who.Via
	if _, err := exec(ctx, tx, "add-change", append([]any{l.clock()}, rows.ChangeArgs(c)...)...); err != nil {
		return fmt.Errorf("%w: %w", ledger.ErrNotRecorded, err)
	}
	return nil
}

// AddChange implements ledger.Audit.
func (l *Ledger) AddChange(ctx context.Context, c *ledger.Change) error {
	return l.change(ctx, "add change", ledger.Author{By: c.By, Via: c.Via}, func(*sql.Tx) (*ledger.Change, error) { return c, nil })
}

// Changes implements ledger.Audit.
func (l *Ledger) Changes(ctx context.Context, f ledger.ChangeFilter) (list []ledger.Change, more bool, err error) {
	var found []rows.Change
	var row rows.Change
	err = each(ctx, l.read, "changes", rows.ChangesArgs(&f), row.Columns(), func() error {
		found = append(found, row)
		return nil
	})
	if err != nil {
		return nil, false, failed("changes", err)
	}
	list, more = rows.Changes(found, f.Limit)
	return list, more, nil
}

// TakeRules implements ledger.RuleVersions.
func (l *Ledger) TakeRules(ctx context.Context, who ledger.Author, from int64, v *ledger.RulesVersion) (recorded bool, err error) {
	err = l.change(ctx, "take rules", who, func(tx *sql.Tx) (*ledger.Change, error) {
		var last rows.RulesPlace
		there, err := one(ctx, tx, "last-rules", nil, &last.Place, &last.Version)
		if err != nil || there && last.Version == v.Version {
			return nil, err
		}
		var known bool
		if _, err := one(ctx, tx, "has-rules", []any{v.Version, from}, &known); err != nil || known {
			return nil, err
		}
		if _, err := exec(ctx, tx, "take-rules", last.Place+1, v.Version); err != nil {
			return nil, err
		}
		if _, err := exec(ctx, tx, "count-rules", last.Place+1); err != nil {
			return nil, err
		}
		recorded = true
		return record.RulesTaken(last.Version, v), nil
	})
	return recorded && err == nil, err
}
