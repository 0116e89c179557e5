package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tallyman/internal/ledger/named"
	"tallyman/internal/ledger/store"
)

var queries = named.MustParse(sqlFiles, "sql")

// The SQLSTATEs that the code expects and handles.
const (
	uniqueViolation  = "23505"
	deadlockDetected = "40P01"
	// serialization_failure: a transaction that this one waited for moved the row to another partition
	rowMoved            = "40001"
	undefinedTable      = "42P01"
	readOnlyTransaction = "25006"
)

// engine implements store.Engine on the ledger.
type engine struct{ *Ledger }

var _ store.Engine = engine{}

// Exec implements store.Conn.
func (e engine) Exec(ctx context.Context, name string, args ...any) (int64, error) {
	return e.exec(ctx, name, args...)
}

// One implements store.Conn.
func (e engine) One(ctx context.Context, name string, args []any, targets ...any) (bool, error) {
	found, err := executor{e.pool}.One(ctx, name, args, targets...)
	if err != nil {
		return false, fmt.Errorf("ledger: %w", err)
	}
	return found, nil
}

// Each implements store.Conn.
func (e engine) Each(ctx context.Context, name string, args, targets []any, visit func() error) error {
	if err := (executor{e.pool}).Each(ctx, name, args, targets, visit); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// EachPlanned implements store.Engine. Both statements are one transaction and two round trips.
func (e engine) EachPlanned(ctx context.Context, plan, name string, args, targets []any, visit func() error) error {
	begin := func(b *pgx.Batch) {
		b.Queue(queries.Get(plan))
		b.Queue(queries.Get(name), args...).Query(func(found pgx.Rows) error {
			_, err := pgx.ForEachRow(found, targets, visit)
			return err
		})
	}
	return e.askTogether(ctx, name, begin)
}

// InTx implements store.Engine.
func (e engine) InTx(ctx context.Context, what string, do func(store.Conn) error) error {
	return e.inTx(ctx, what, func(tx pgx.Tx) error { return do(executor{tx}) })
}

// InAuditTx implements store.Engine.
func (e engine) InAuditTx(ctx context.Context, what string, do func(store.Conn) error) error {
	return e.InTx(ctx, what, func(tx store.Conn) error {
		if _, err := tx.Exec(ctx, "lock-audit"); err != nil {
			return err
		}
		return do(tx)
	})
}

// Aside implements store.Engine.
func (e engine) Aside() store.Engine {
	return engine{&Ledger{Store: e.Store, pool: e.aside, aside: e.aside}}
}

// IsAlone implements store.Engine.
func (e engine) IsAlone() bool { return false }

// IsDuplicate implements store.Engine.
func (e engine) IsDuplicate(err error) bool { return hasState(err, uniqueViolation) }

// executor runs statements by name on a pool, on a connection or in a transaction.
type executor struct {
	db interface {
		Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
		QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	}
}

// Exec implements store.Conn.
func (c executor) Exec(ctx context.Context, name string, args ...any) (int64, error) {
	tag, err := c.db.Exec(ctx, queries.Get(name), args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return tag.RowsAffected(), nil
}

// One implements store.Conn.
func (c executor) One(ctx context.Context, name string, args []any, targets ...any) (bool, error) {
	err := c.db.QueryRow(ctx, queries.Get(name), args...).Scan(targets...)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}

// Each implements store.Conn.
func (c executor) Each(ctx context.Context, name string, args, targets []any, visit func() error) error {
	found, err := c.db.Query(ctx, queries.Get(name), args...)
	if err == nil {
		_, err = pgx.ForEachRow(found, targets, visit)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// exec runs the query by name in a transaction of its own.
func (l *Ledger) exec(ctx context.Context, name string, args ...any) (n int64, err error) {
	err = again(func() error {
		n, err = executor{l.pool}.Exec(ctx, name, args...)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	return n, nil
}

// query runs the query by name and collects its rows.
func query[T any](ctx context.Context, l *Ledger, name string, scan pgx.RowToFunc[T], args ...any) ([]T, error) {
	rows, err := l.pool.Query(ctx, queries.Get(name), args...)
	if err != nil {
		return nil, failed(name, err)
	}
	list, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, failed(name, err)
	}
	return list, nil
}

// inTx runs do in a transaction. inTx calls do again after a deadlock. Therefore the function do must assign its
// results anew and not add to them.
func (l *Ledger) inTx(ctx context.Context, what string, do func(pgx.Tx) error) error {
	if err := again(func() error { return pgx.BeginFunc(ctx, l.pool, do) }); err != nil {
		return failed(what, err)
	}
	return nil
}

// failed adds to an error which operation failed.
func failed(what string, err error) error {
	return fmt.Errorf("ledger: %s: %w", what, err)
}

// hasState tells whether the error is the server's answer with this SQLSTATE.
func hasState(err error, state string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == state
}

// again runs do up to three times. do runs again if the server ended the transaction for one of two reasons: a
// deadlock, or another transaction moved a row for which this transaction waited (a delivery that ended). All
// transactions take locks in the same order. But a commit also locks the rows that it inserts, and these locks are
// outside that order.
func again(do func() error) error {
	var err error
	for range 3 {
		if err = do(); !hasState(err, deadlockDetected) && !hasState(err, rowMoved) {
			break
		}
	}
	return err
}

// inShortTx runs a transaction of few round trips. The statements of begin are sent together with BEGIN. The statements
// that the function do leaves in the last batch are sent together with COMMIT. As inTx, inShortTx runs begin and do
// again after a deadlock. So begin must reset everything that the two functions set.
func (l *Ledger) inShortTx(ctx context.Context, what string, begin func(*pgx.Batch), do func(context.Context, *pgx.Conn, *pgx.Batch) error) error {
	return again(func() error { return l.inShortTxOnce(ctx, what, begin, do) })
}

// askTogether runs the statements of begin in one transaction. askTogether is for queries that depend on a setting of
// the transaction.
func (l *Ledger) askTogether(ctx context.Context, what string, begin func(*pgx.Batch)) error {
	return l.inShortTxOnce(ctx, what, begin, func(context.Context, *pgx.Conn, *pgx.Batch) error { return nil })
}

// inShortTxOnce is inShortTx without the repetition, for callers that repeat by themselves.
func (l *Ledger) inShortTxOnce(ctx context.Context, what string, begin func(*pgx.Batch), do func(context.Context, *pgx.Conn, *pgx.Batch) error) error {
	pooled, err := l.pool.Acquire(ctx)
	if err != nil {
		return failed(what, err)
	}
	defer pooled.Release() // Release closes a connection that still has an open transaction.
	conn := pooled.Conn()
	if err := shortTx(ctx, conn, begin, do); err != nil {
		if !conn.IsClosed() {
			_, _ = conn.Exec(ctx, "ROLLBACK") // if ROLLBACK fails, Release closes the connection
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
