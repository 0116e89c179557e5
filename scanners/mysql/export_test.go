package mysql

import (
	"context"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// RunText prepares and runs a text that rules/probe would refuse.
func RunText(ctx context.Context, s *Source, sql string) error {
	return s.Do(ctx, func(ctx context.Context, tx sqldb.Transaction) error {
		described, err := tx.Describe(ctx, &probe.Statement{}, sql)
		if err != nil {
			return err
		}
		var columns []row.Column
		for _, c := range described {
			columns = append(columns, c.Column)
		}
		if err := scanners.Fold(columns); err != nil {
			return err
		}
		rows, free, err := tx.Query(ctx, sql, nil)
		if err != nil {
			return err
		}
		defer free()
		defer func() { _ = rows.Close() }()
		for rows.Next() {
		}
		return rows.Err()
	})
}
