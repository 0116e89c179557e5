package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/postgres"
	"tallyman/internal/testenv"
)

// TestEndWaitsForWhoHoldsTheFinding ends a delivery that is over while another transaction ends the one before it: were neither to
// wait for the other, each would leave it to the other to let the next one go.
func TestEndWaitsForWhoHoldsTheFinding(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	l, list := threeOfAFinding(t, url)
	release := endBehind(t, url, l, list[2].Seq)
	release()
	claims, err := l.ClaimPushes(t.Context(), "gateway", "a", time.Minute, 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(claims.List) != 1 || claims.List[0].Seq != list[0].Seq {
		t.Errorf("the last of the finding was not let go: %+v", claims.List)
	}
}

// TestLedgersInOneDatabase have locks of their own: what one ends does not keep another from it.
func TestLedgersInOneDatabase(t *testing.T) {
	t.Parallel()
	server := testenv.Postgres(t)
	var urls [2]string
	for i, name := range []string{"north", "south"} {
		execute(t, server, "CREATE SCHEMA "+name)
		urls[i] = server + "&search_path=" + name
		migrate(t, urls[i])
	}
	north, list := threeOfAFinding(t, urls[0])
	south, _ := threeOfAFinding(t, urls[1])
	release := endBehind(t, urls[0], north, list[2].Seq)
	defer release()
	if _, canceled, err := south.EndPushes(t.Context(), "gateway", 10); err != nil || canceled != 1 {
		t.Errorf("%d were canceled, %v", canceled, err)
	}
}

// threeOfAFinding opens the ledger, which has three deliveries of a finding, the second of them over; the latest first.
func threeOfAFinding(t *testing.T, url string) (*postgres.Ledger, []ledger.DeliveryRecord) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	l := open(t, url, ledger.Options{})
	prepare(t, l)
	c, err := l.Claim(t.Context(), "r", "", at(1), "a", time.Hour)
	check(err)
	run := commitOf(c, 1, 3)
	for i := range run.Notices {
		n := run.Notices[i].Notice
		n.Key, n.CreatedAt, n.ExpiresAt = "k", time.Now(), time.Now().Add(time.Hour)
		run.Notices[i].Sinks[0].Strategy = &delivery.Strategy{Kind: delivery.Important}
	}
	run.Notices[1].Notice.ExpiresAt = time.Now()
	_, err = l.Commit(t.Context(), c, run)
	check(err)
	list, err := l.ListDeliveries(t.Context(), ledger.DeliveryFilter{Sink: "gateway", Limit: 3})
	check(err)
	return l, list
}

// endBehind ends one delivery in a transaction of its own and has EndPushes wait for it. What it returns commits, and waits for EndPushes,
// which ends one more.
func endBehind(t *testing.T, url string, l *postgres.Ledger, seq int64) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "UPDATE pushes SET due = NULL WHERE seq = $1", seq); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, canceled, err := l.EndPushes(t.Context(), "gateway", 10); err != nil || canceled != 1 {
			t.Errorf("%d were canceled, %v", canceled, err)
		}
	}()
	testenv.Eventually(t, func() bool {
		var waits bool
		err := tx.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid)").Scan(&waits)
		return err == nil && waits
	}, 10*time.Second)
	return func() {
		if err := tx.Commit(t.Context()); err != nil {
			t.Error(err)
		}
		<-ended
		_ = conn.Close(t.Context())
	}
}
