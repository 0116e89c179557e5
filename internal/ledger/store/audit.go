package store

import (
	"context"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// AddChange implements ledger.Audit.
func (s *Store) AddChange(ctx context.Context, c *ledger.Change) error {
	return s.change(ctx, "add change", ledger.Author{By: c.By, Via: c.Via}, func(Conn) (*ledger.Change, error) { return c, nil })
}

// Changes implements ledger.Audit.
func (s *Store) Changes(ctx context.Context, f ledger.ChangeFilter) (page []ledger.Change, more bool, err error) {
	var row rows.Change
	found, err := list(ctx, s.db, "changes", rows.ChangesArgs(&f), row.Columns(), func() (rows.Change, error) { return row, nil })
	if err != nil {
		return nil, false, err
	}
	page, more = rows.Changes(found, f.Limit)
	return page, more, nil
}

// TakeRules implements ledger.RuleVersions.
func (s *Store) TakeRules(ctx context.Context, who ledger.Author, from int64, v *ledger.RulesVersion) (recorded bool, err error) {
	err = s.change(ctx, "take rules", who, func(tx Conn) (*ledger.Change, error) {
		recorded = false
		var last rows.RulesPlace
		found, err := tx.One(ctx, "last-rules", nil, &last.Place, &last.Version)
		if err != nil || found && last.Version == v.Version {
			return nil, err
		}
		var known bool
		if _, err := tx.One(ctx, "has-rules", []any{v.Version, from}, &known); err != nil || known {
			return nil, err
		}
		if _, err := tx.Exec(ctx, "take-rules", last.Place+1, v.Version); err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, "count-rules", last.Place+1); err != nil {
			return nil, err
		}
		recorded = true
		return record.RulesTaken(last.Version, v), nil
	})
	return recorded && err == nil, err
}
