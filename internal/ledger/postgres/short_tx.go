package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// inShortTx runs a transaction of few round trips: what begin asks goes out together with BEGIN, what do leaves in the last batch
// together with COMMIT.
func (l *Ledger) inShortTx(ctx context.Context, what string, begin func(*pgx.Batch), do func(context.Context, *pgx.Conn, *pgx.Batch) error) error {
	pooled, err := l.pool.Acquire(ctx)
	if err != nil {
		return failed(what, err)
	}
	defer pooled.Release() // which closes a connection whose transaction is open
	conn := pooled.Conn()
	if err := shortTx(ctx, conn, begin, do); err != nil {
		if !conn.IsClosed() {
			_, _ = conn.Exec(ctx, "ROLLBACK") // where that fails, see above
		}
		return failed(what, err)
	}
	return nil
}

func shortTx(ctx context.Context, conn *pgx.Conn, begin func(*pgx.Batch), do func(context.Context, *pgx.Conn, *pgx.Batch) error) error {
	var first, last pgx.Batch
	first.Queue("BEGIN")
	begin(&first)
	if err := conn.SendBatch(ctx, &first).Close(); err != nil {
		return err
	}
	if err := do(ctx, conn, &last); err != nil {
		return err
	}
	last.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return fmt.Errorf("the transaction ended with %s", tag)
		}
		return nil
	})
	return conn.SendBatch(ctx, &last).Close()
}

// queryByKey is query for statements that run after by-key; see sql/items.sql.
func queryByKey[T any](ctx context.Context, l *Ledger, name string, scan pgx.RowToFunc[T], args ...any) ([]T, error) {
	var list []T
	begin := func(b *pgx.Batch) {
		b.Queue(queries.Get("by-key"))
		b.Queue(queries.Get(name), args...).Query(func(found pgx.Rows) error {
			var err error
			list, err = pgx.CollectRows(found, scan)
			return err
		})
	}
	err := l.inShortTx(ctx, name, begin, func(context.Context, *pgx.Conn, *pgx.Batch) error { return nil })
	return list, err
}
