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

// unprepared is how connections are asked before checkSessions has told that statements may be prepared on them.
const unprepared = pgx.QueryExecModeExec

// checkPools tests a connection of each pool; see checkSessions.
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

// checkDB tests two connections of the database; see checkSessions.
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

// protocolViolation is what PgBouncer answers to BEGIN in statement mode.
const protocolViolation = "08P01"

// checkSessions tests that the connections are two sessions of one server: advisory locks of both kinds, for the session and for the transaction, exclude
// each other. ErrPooled where they do not: a pooler gives each transaction any session, and prepared statements and settings go astray there, too.
func checkSessions(ctx context.Context, one, two *pgx.Conn) error {
	key := rand.Int64() //nolint:gosec // nobody gains anything by guessing it, and a lock that stays with a pooler is in nobody's way
	err := askLocks(ctx, key, []lockQuestion{
		{one, "lock-session", true},
		{one, "lock-session", true}, // the same session again, or a pooler takes turns
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
	defer func() { _ = tx.Rollback(ctx) }() // with the lock of the transaction
	return askLocks(ctx, key, []lockQuestion{
		{tx, "lock-transaction", false}, // or a pooler gives out the session that was used last
		{one, "unlock-session", true},
		{one, "unlock-session", true},
		{tx, "lock-transaction", true},
		{one, "lock-transaction", false},
	})
}

// lockQuestion asks a connection for a lock, or to give one back.
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
