package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
	"tallyman/sinks"
)

// TestEndWaitsForWhoHoldsTheFinding ends a delivery that is over while another transaction ends the one before it: were neither to
// wait for the other, each would leave it to the other to let the next one go.
func TestEndWaitsForWhoHoldsTheFinding(t *testing.T) {
	t.Parallel()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	url := migrated(t)
	l := open(t, url, ledger.Options{})
	prepare(t, l)
	c, err := l.Claim(t.Context(), "r", "", at(1), "a", time.Hour)
	check(err)
	run := commitOf(c, 1, 3)
	for i := range run.Notices {
		n := run.Notices[i].Notice
		n.Key, n.CreatedAt, n.ExpiresAt = "k", time.Now(), time.Now().Add(time.Hour)
		run.Notices[i].Sinks[0].Strategy = &sinks.Strategy{Kind: sinks.Important}
	}
	run.Notices[1].Notice.ExpiresAt = time.Now()
	_, err = l.Commit(t.Context(), c, run)
	check(err)
	list, err := l.ListDeliveries(t.Context(), ledger.DeliveryFilter{Sink: "gateway", Limit: 3})
	check(err)

	conn, err := pgx.Connect(t.Context(), url)
	check(err)
	defer func() { _ = conn.Close(t.Context()) }()
	tx, err := conn.Begin(t.Context())
	check(err)
	_, err = tx.Exec(t.Context(), "UPDATE pushes SET due = NULL WHERE seq = $1", list[2].Seq)
	check(err)
	ended := make(chan error, 1)
	go func() {
		_, canceled, err := l.EndPushes(t.Context(), "gateway", 10)
		if err == nil && canceled != 1 {
			t.Errorf("%d were canceled", canceled)
		}
		ended <- err
	}()
	testenv.Eventually(t, func() bool {
		var waits bool
		err := tx.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid)").Scan(&waits)
		return err == nil && waits
	}, 10*time.Second)
	check(tx.Commit(t.Context()))
	check(<-ended)
	claims, err := l.ClaimPushes(t.Context(), "gateway", "a", time.Minute, 10)
	check(err)
	if len(claims.List) != 1 || claims.List[0].Seq != list[0].Seq {
		t.Errorf("the last of the finding was not let go: %+v", claims.List)
	}
}
