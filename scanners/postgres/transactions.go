package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"tallyman/scanners"
)

//go:embed transactions.sql
var transactionsSQL string

var _ scanners.TransactionWatcher = (*Source)(nil)

// OpenTransactions implements scanners.TransactionWatcher.
func (s *Source) OpenTransactions(ctx context.Context) (scanners.OpenTransactions, error) {
	var found [][]string
	err := s.inspect(ctx, func(ctx context.Context, conn *pgconn.PgConn) (err error) {
		found, err = s.query(ctx, conn, transactionsSQL)
		return err
	})
	if err != nil {
		return scanners.OpenTransactions{}, err
	}
	var open scanners.OpenTransactions
	for _, values := range found {
		if values[0] == "" {
			open.Hidden++
			continue
		}
		micros, err := strconv.ParseInt(values[0], 10, 64)
		if err != nil {
			return scanners.OpenTransactions{}, fmt.Errorf("the age of a transaction: %w", err)
		}
		open.Ages = append(open.Ages, time.Duration(micros)*time.Microsecond)
	}
	return open, nil
}
