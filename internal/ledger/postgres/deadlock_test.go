package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/postgres"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
)

// TestDeadlocksAreSurvived makes the server end a transaction of the ledger because of a deadlock. The ledger runs
// the transaction again, and the caller gets the answer of a call without a deadlock.
func TestDeadlocksAreSurvived(t *testing.T) { //nolint:tparallel // one after the other: the server counts the deadlocks of all
	t.Parallel()
	url := migrated(t)
	l := open(t, url, ledger.Options{})
	prepare(t, l)
	// A ledger with one connection, on which the statements of the call are prepared already. Preparing a statement
	// also waits for a lock, before the call holds any.
	single := open(t, url+"&pool_max_conns=1", ledger.Options{})
	if _, err := single.CancelDeliveries(t.Context(), ledgertest.Ann, []int64{1}, "to prepare"); err != nil {
		t.Fatal(err)
	}
	toSend := commitOf(ledger.Claim{}, 10, 3).Notices
	for i := range toSend {
		n := toSend[i].Notice
		n.Title, n.Key, n.Status, n.CreatedAt, n.ExpiresAt = "Bin", "", notice.Sent, at(1), at(2)
	}
	if _, err := l.Send(t.Context(), toSend[:1]); err != nil {
		t.Fatal(err)
	}
	const lanes = "SELECT pg_advisory_xact_lock('lanes'::regclass::oid::integer, id) FROM lanes"
	for i, c := range []struct {
		name string
		// The call locks the first, and later the second.
		first, second string
		do            func(t *testing.T) error
	}{
		{"commit", lanes, "LOCK TABLE deliveries IN EXCLUSIVE MODE", func(t *testing.T) error {
			t.Helper()
			claim, err := l.Claim(t.Context(), "r", "", 0, at(1), "a", time.Hour)
			if err != nil {
				return err
			}
			done, err := l.Commit(t.Context(), claim, commitOf(claim, 1, 3))
			if done.Deliveries != 3 {
				t.Errorf("the answer has %d deliveries", done.Deliveries)
			}
			return err
		}},
		{"send", lanes, "LOCK TABLE deliveries IN EXCLUSIVE MODE", func(t *testing.T) error {
			t.Helper()
			sent, err := l.Send(t.Context(), toSend)
			for i, one := range sent.List {
				if one.Deliveries != 1 || one.Existing != (i == 0) {
					t.Errorf("the answer about notice %d is %+v", i, one)
				}
			}
			return err
		}},
		{"push", "LOCK TABLE open_items", "LOCK TABLE items IN EXCLUSIVE MODE", func(t *testing.T) error {
			t.Helper()
			items := make([]item.Record, 100)
			for i := range items {
				items[i] = item.Record{New: item.New{ID: fmt.Sprint("i", i), Priority: 3, Payload: []byte("1"), Created: at(1)}, State: item.Ready}
			}
			if _, err := l.PushItems(t.Context(), "q", items); err != nil {
				return err
			}
			kept, err := l.UnfinishedItems(t.Context(), "q", 0, 1000)
			if len(kept) != len(items) {
				t.Errorf("%d items of %d were kept", len(kept), len(items))
			}
			return err
		}},
		{"cancel", "SELECT pg_advisory_xact_lock('audit'::regclass::oid::integer, 0)", "LOCK TABLE deliveries IN EXCLUSIVE MODE", func(t *testing.T) error {
			t.Helper()
			_, err := single.CancelDeliveries(t.Context(), ledgertest.Ann, []int64{1}, "a test")
			return err
		}},
		{"change", "SELECT pg_advisory_xact_lock('audit'::regclass::oid::integer, 0)", "LOCK TABLE audit", func(t *testing.T) error {
			t.Helper()
			return l.SetSwitch(t.Context(), ledgertest.Ann, ledger.Switch{Rule: "r", State: ledger.SwitchOff})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close(t.Context()) }()
			execute := func(statement string) {
				t.Helper()
				if _, err := conn.Exec(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			execute("BEGIN; SET LOCAL deadlock_timeout = '1h'; " + c.second) // the server ends the other transaction
			done := make(chan error, 1)
			go func() { done <- c.do(t) }()
			testenv.Eventually(t, func() bool {
				if len(done) > 0 {
					t.Fatalf("it did not wait: %v", <-done)
				}
				var waits bool
				err := conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid())").Scan(&waits)
				return err == nil && waits
			}, 10*time.Second)
			execute(c.first) // is granted once the ledger's transaction has ended
			execute("ROLLBACK")
			if err := <-done; err != nil {
				t.Error(err)
			}
			testenv.Eventually(t, func() bool { // the server counts with a delay
				var ended int
				err := conn.QueryRow(t.Context(), "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&ended)
				return err == nil && ended > i
			}, 10*time.Second)
		})
	}
}

// TestEndWaitsForWhoHoldsTheFinding ends a delivery while another transaction ends the delivery before it. If neither
// waited for the other, each would expect the other to release the next delivery.
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

// TestLedgersInOneDatabase checks that ledgers in one database have locks of their own: ending deliveries in one does
// not block the other.
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

// threeOfAFinding opens a ledger with three deliveries of one finding, the second of them over; the latest first.
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
	c, err := l.Claim(t.Context(), "r", "", 0, at(1), "a", time.Hour)
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

// endBehind ends one delivery in a transaction of its own, and starts EndPushes, which waits for that transaction.
// The returned function commits, and waits for EndPushes, which ends one more delivery.
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
