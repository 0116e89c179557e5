package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// writeFindings writes the findings that changed.
func writeFindings(ctx context.Context, tx *sql.Tx, scopeID, due int64, run *ledger.Commit) error {
	changes, warehouses := run.Findings, rows.Warehouses(run)
	byOp := map[ledger.Op][]*ledger.FindingChange{}
	for i := range changes {
		byOp[changes[i].Op] = append(byOp[changes[i].Op], &changes[i])
	}
	columns := func(dst []any, c *ledger.FindingChange) []any {
		f := rows.NewFinding(&c.State)
		dst = append(dst, scopeID, f.Key, f.Phase, f.Priority, f.Ordinal, f.Episode, f.SeenClock, f.AbsentSince,
			f.FiringSince, f.LastNotified, f.NoticeID, f.Group, f.Silenced, warehouses[f.NoticeID])
		if c.Row == nil {
			return append(dst, nil, 0)
		}
		return append(dst, c.Row, due)
	}
	inserts := byOp[ledger.Insert]
	err := insertRows(ctx, tx, "insert-findings", len(inserts), func(dst []any, i int) []any { return columns(dst, inserts[i]) })
	if err != nil {
		return err
	}
	if err := updateFindings(ctx, tx, byOp[ledger.Update], columns); err != nil {
		return err
	}
	deletes := byOp[ledger.Delete]
	if len(deletes) == 0 {
		return nil
	}
	keys := make([]string, len(deletes))
	for i := range deletes {
		keys[i] = deletes[i].Key
	}
	n, err := exec(ctx, tx, "delete-findings", scopeID, keys)
	if err == nil && n != int64(len(keys)) {
		err = fmt.Errorf("delete findings: %d of %d are there", n, len(keys))
	}
	return err
}

func updateFindings(ctx context.Context, tx *sql.Tx, changed []*ledger.FindingChange, columns func([]any, *ledger.FindingChange) []any) error {
	if len(changed) == 0 {
		return nil
	}
	stmt, err := tx.PrepareContext(ctx, queries.Get("update-finding"))
	if err != nil {
		return fmt.Errorf("update-finding: %w", err)
	}
	defer func() { _ = stmt.Close() }() // the transaction closes what it prepared
	var args []any
	for i := range changed {
		args = columns(args[:0], changed[i])
		res, err := stmt.ExecContext(ctx, args...)
		if err != nil {
			return fmt.Errorf("update-finding: %w", err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return fmt.Errorf("update-finding: %w", err)
		}
		if n != 1 {
			return fmt.Errorf("update findings: %q is not there", changed[i].Key)
		}
	}
	return nil
}
