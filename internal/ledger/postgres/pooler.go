package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"tallyman/internal/ledger"
)

// unprepared is the mode of queries that run before checkSessions has shown that statements may be prepared on the
// connection.
const unprepared = pgx.QueryExecModeExec

// checkPools checks one connection of each pool; see checkSessions.
func checkPools(ctx context.Context, a, b *pgxpool.Pool) error {
	one, err := a.Acquire(ctx)
	if err != nil {
		return failed("connect", err)
	}
	defer one.Release()
	two, err := b.Acquire(ctx)
	if err != nil {
		return failed("connect", err)
	}
	defer two.Release()
	return checkSessions(ctx, one.Conn(), two.Conn())
}

// checkDB checks two connections of the database; see checkSessions.
func checkDB(ctx context.Context, db *sql.DB) error {
	return onConn(ctx, db, func(one *pgx.Conn) error {
		return onConn(ctx, db, func(two *pgx.Conn) error { return checkSessions(ctx, one, two) })
	})
}

func onConn(ctx context.Context, db *sql.DB, do func(*pgx.Conn) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return failed("connect", err)
	}
	return errors.Join(conn.Raw(func(driver any) error { return do(driver.(*stdlib.Conn).Conn()) }), conn.Close())
}

// protocolViolation is the answer of PgBouncer to BEGIN in statement mode.
const protocolViolation = "08P01"

// checkSessions checks that the two connections are two sessions of one server. Advisory locks of the session and of
// the transaction must exclude each other. If the locks do not, checkSessions returns ErrPooled: a pooler then runs
// each transaction in any session, and prepared statements and settings get lost as well.
func checkSessions(ctx context.Context, one, two *pgx.Conn) error {
	key := rand.Int64() //nolint:gosec // nobody gains anything by guessing it, and a lock that stays with a pooler is in nobody's way
	err := askLocks(ctx, key, []lockQuestion{
		{one, "lock-session", true},
		{one, "lock-session", true}, // Only the same session gets the lock twice; a pooler may switch sessions here.
	})
	if err != nil {
		return err
	}
	tx, err := two.Begin(ctx)
	if hasState(err, protocolViolation) {
		return fmt.Errorf("%w (%w)", ledger.ErrPooled, err)
	}
	if err != nil {
		return failed("check the sessions", err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // also releases the lock of the transaction
	return askLocks(ctx, key, []lockQuestion{
		// True would mean that a pooler gave this transaction the session of connection one.
		{tx, "lock-transaction", false},
		{one, "unlock-session", true},
		{one, "unlock-session", true},
		{tx, "lock-transaction", true},
		{one, "lock-transaction", false},
	})
}

// lockQuestion is a query that takes or releases a lock on a connection, and the answer that it must have.
type lockQuestion struct {
	conn interface {
		QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	}
	query string
	want  bool
}

func askLocks(ctx context.Context, key int64, questions []lockQuestion) error {
	for _, q := range questions {
		var answer bool
		if err := q.conn.QueryRow(ctx, queries.Get(q.query), unprepared, key).Scan(&answer); err != nil {
			return failed("check the sessions", fmt.Errorf("%s: %w", q.query, err))
		}
		if answer != q.want {
			return ledger.ErrPooled
		}
	}
	return nil
}
