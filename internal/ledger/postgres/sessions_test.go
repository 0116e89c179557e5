package postgres

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// migratedLedger opens a new ledger whose pool has one connection, and a second connection to its database.
func migratedLedger(t *testing.T) (*Ledger, *pgx.Conn) {
	t.Helper()
	url := testenv.Postgres(t)
	if _, err := Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), url, ledger.Options{MaxConnections: 1})
	noError(t, err)
	t.Cleanup(func() { noError(t, l.Close()) })
	beside, err := pgx.Connect(t.Context(), url)
	noError(t, err)
	t.Cleanup(func() { noError(t, beside.Close(context.WithoutCancel(t.Context()))) })
	return l, beside
}

// A node can begin, renew and read its session while other work holds all connections of the node.
func TestSessionsWaitForNoOtherWork(t *testing.T) {
	t.Parallel()
	l, _ := migratedLedger(t)
	busy, err := l.pool.Acquire(t.Context())
	noError(t, err)
	defer busy.Release()
	ctx, done := context.WithTimeout(t.Context(), 20*time.Second)
	defer done()
	noError(t, l.BeginSession(ctx, ledger.Node{Session: "a/1", Name: "a"}, time.Minute))
	noError(t, l.RenewSession(ctx, "a/1", "", time.Minute))
	nodes, err := l.Nodes(ctx)
	if err != nil || len(nodes) != 1 {
		t.Errorf("%v, %v", nodes, err)
	}
	_, err = l.BurySessions(ctx, "a/1")
	noError(t, err)
	noError(t, l.EndSessions(ctx, []string{"a/1"}))
}

// A node that froze in the middle of a transaction blocks a burial only for the rows that it has locked. These become
// free when its transaction ends.
func TestABurialWaitsForNoLock(t *testing.T) {
	t.Parallel()
	l, beside := migratedLedger(t)
	lanes := []ledger.Lane{{Sink: "inbox", Warehouse: "1"}, {Sink: "inbox", Warehouse: "2"}}
	noError(t, l.BeginSession(t.Context(), ledger.Node{Session: "a/1", Name: "a"}, time.Minute))
	for _, lane := range lanes {
		_, err := l.AcquireLane(t.Context(), lane, "a/1", time.Minute)
		noError(t, err)
	}
	_, err := l.Register(t.Context(), "r", "", 0, at(0))
	noError(t, err)
	_, err = l.Claim(t.Context(), "r", "", 0, at(1), "a/1", time.Minute)
	noError(t, err)
	tx, err := beside.Begin(t.Context())
	noError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM rule_scopes FOR UPDATE")
	noError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM lanes WHERE warehouse = '1' FOR UPDATE")
	noError(t, err)

	ctx, done := context.WithTimeout(t.Context(), 20*time.Second)
	defer done()
	noError(t, l.EndSessions(ctx, []string{"a/1"}))
	held, err := l.HeldLanes(ctx)
	if err != nil || len(held) != 1 || held[0].Lane != lanes[0] {
		t.Errorf("held are %v, %v", held, err)
	}
	noError(t, tx.Rollback(t.Context()))
	noError(t, l.EndSessions(ctx, []string{"a/1"}))
	held, err = l.HeldLanes(ctx)
	left, lerr := l.Abandoned(ctx)
	if err != nil || lerr != nil || len(held) != 0 || len(left) != 1 {
		t.Errorf("held are %v, %v; abandoned are %v, %v", held, err, left, lerr)
	}
}

func at(minute int) time.Time {
	return time.Date(2026, 6, 1, 8, minute, 0, 0, time.UTC)
}

// LiveNodes lists the nodes whose leases are in force. A database without a ledger has no live node.
func TestLiveNodes(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	if live, err := LiveNodes(t.Context(), url); err != nil || len(live) != 0 {
		t.Fatalf("without a ledger: %v, %v", live, err)
	}
	if _, err := Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), url, ledger.Options{})
	noError(t, err)
	defer func() { noError(t, l.Close()) }()
	noError(t, l.BeginSession(t.Context(), ledger.Node{Session: "b/1", Name: "b", Version: "0.2.0"}, time.Minute))
	noError(t, l.BeginSession(t.Context(), ledger.Node{Session: "a/1", Name: "a", Version: "0.1.0"}, time.Minute))
	noError(t, l.BeginSession(t.Context(), ledger.Node{Session: "c/1", Name: "c", Version: "0.1.0"}, 0))
	want := []ledger.Node{{Name: "a", Version: "0.1.0"}, {Name: "b", Version: "0.2.0"}}
	if live, err := LiveNodes(t.Context(), url); err != nil || !slices.Equal(live, want) {
		t.Errorf("%+v, want %+v: %v", live, want, err)
	}
}
