package store

import (
	"context"
	"fmt"
	"slices"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/record"
)

// auditStore is ledger.Audit.
type auditStore struct{ *base }

// AddChange implements ledger.Audit.
func (s *auditStore) AddChange(ctx context.Context, c *ledger.Change) error {
	return s.change(ctx, "add change", ledger.Author{By: c.By, Via: c.Via}, func(Conn) (*ledger.Change, error) { return c, nil })
}

// Changes implements ledger.Audit.
func (s *auditStore) Changes(ctx context.Context, f ledger.ChangeFilter) (page []ledger.Change, more bool, err error) {
	var row codec.Change
	name := "changes"
	if f.Oldest {
		name = "changes-oldest"
	}
	found, err := list(ctx, s.db, name, codec.ChangesArgs(&f), row.Columns(), func() (codec.Change, error) { return row, nil })
	if err != nil {
		return nil, false, err
	}
	page, more = codec.Changes(found, f.Limit)
	return page, more, nil
}

// TakeRules implements ledger.RuleVersions.
func (s *auditStore) TakeRules(ctx context.Context, who ledger.Author, from int64, v *ledger.RulesVersion) (recorded bool, err error) {
	err = s.change(ctx, "take rules", who, func(tx Conn) (*ledger.Change, error) {
		recorded = false
		var last codec.RulesPlace
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

// Recorder writes the audit records of changes and reports the steps to ledger.Options.Step.
type Recorder struct {
	nowArg func() *int64
	step   func(string)
}

// Record writes the audit records of a transaction, inside that transaction. Record skips nil changes.
type Record func(ctx context.Context, tx Conn, changes ...*ledger.Change) error

// Run runs a transaction. The transaction must call record as its last step, so that a failed record undoes the
// change.
func (r *Recorder) Run(run func(record Record) error) error {
	recorded := false
	err := run(func(ctx context.Context, tx Conn, changes ...*ledger.Change) error {
		changes = slices.DeleteFunc(changes, func(c *ledger.Change) bool { return c == nil })
		recorded = len(changes) > 0 // assigned, not added up, because the engine may run the transaction again
		if recorded {
			r.step(ledger.StepChanged)
		}
		for _, c := range changes {
			if err := r.write(ctx, tx, c); err != nil {
				return err
			}
		}
		return nil
	})
	if recorded && err == nil {
		r.step(ledger.StepCommitted)
	}
	return err
}

func (r *Recorder) write(ctx context.Context, tx Conn, c *ledger.Change) error {
	if err := (ledger.Author{By: c.By, Via: c.Via}).Check(); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "add-change", append([]any{r.nowArg()}, codec.ChangeArgs(c)...)...); err != nil {
		return fmt.Errorf("%w: %w", ledger.ErrNotRecorded, err)
	}
	r.step(ledger.StepRecorded)
	return nil
}
