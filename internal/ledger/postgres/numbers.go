package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Numbers implements ledger.Numbers.
func (l *Ledger) Numbers(ctx context.Context) (map[string]int64, error) {
	found, err := l.pool.Query(ctx, queries.Get("numbers"))
	if err != nil {
		return nil, failed("numbers", err)
	}
	numbers := map[string]int64{}
	var name string
	var value int64
	_, err = pgx.ForEachRow(found, []any{&name, &value}, func() error {
		numbers[name] = value
		return nil
	})
	if err != nil {
		return nil, failed("numbers", err)
	}
	return numbers, nil
}
