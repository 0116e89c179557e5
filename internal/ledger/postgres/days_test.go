package postgres

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
)

// dayLedger is a ledger whose clock the test sets.
type dayLedger struct {
	*Ledger
	now    time.Time
	beside *pgx.Conn
	runs   int
}

func newDayLedger(t *testing.T) *dayLedger {
	t.Helper()
	d := &dayLedger{now: at(0)}
	url := testenv.Postgres(t)
	_, err := Migrate(t.Context(), url)
	noError(t, err)
	d.Ledger, err = Open(t.Context(), url, ledger.Options{Now: func() time.Time { return d.now }})
	noError(t, err)
	d.beside, err = pgx.Connect(t.Context(), url)
	noError(t, err)
	t.Cleanup(func() { noError(t, errors.Join(d.beside.Close(t.Context()), d.Close())) })
	_, err = d.Register(t.Context(), "r", "", 0, d.now)
	noError(t, err)
	return d
}

// commit commits a run with notices that live for an hour, and returns the id of the first one.
func (d *dayLedger) commit(t *testing.T, notices int) (id string, err error) {
	t.Helper()
	d.runs++
	c, err := d.Claim(t.Context(), "r", "", 0, at(d.runs), "a", time.Hour)
	if err != nil {
		return "", err
	}
	run := &ledger.Commit{Run: ledger.Run{Rule: "r", Due: c.Due, Started: d.now}, Scope: finding.Scope{LastDue: c.Due}}
	for i := range notices {
		n := &notice.Notice{
			Rule: "r", Key: fmt.Sprint(i), Episode: notice.EpisodeAt(0, d.now), Status: notice.Firing, Warehouse: "w", CreatedAt: d.now, ExpiresAt: d.now.Add(time.Hour),
		}
		n.ID = notice.ID("r", "", fmt.Sprint(d.runs, i), n.Episode, n.Status, 0)
		run.Notices = append(run.Notices, ledger.NewNotice{Notice: n, Sinks: []ledger.Target{{Sink: "queue"}}})
	}
	_, err = d.Commit(t.Context(), c, run)
	return run.Notices[0].Notice.ID, err
}

// send records all pending deliveries as sent.
func (d *dayLedger) send(t *testing.T) (int, error) {
	t.Helper()
	list, err := d.Pending(t.Context(), ledger.Lane{Sink: "queue"}, 1000)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	receipts := make([]delivery.Receipt, len(list))
	for i := range list {
		receipts[i] = delivery.Receipt{Seq: list[i].Seq}
	}
	return len(list), d.MarkSent(t.Context(), "", receipts, delivery.Attempt{})
}

// table returns the table that has the row; "" = none.
func (d *dayLedger) table(t *testing.T, of, column, id string) string {
	t.Helper()
	var name string
	err := d.beside.QueryRow(t.Context(), fmt.Sprintf("SELECT coalesce(max(tableoid::regclass::text), '') FROM %s AS rows WHERE %s = $1", of, column), id).Scan(&name)
	noError(t, err)
	return name
}

func (d *dayLedger) isIn(t *testing.T, id, notices, deliveries string) {
	t.Helper()
	if n, s := d.table(t, "notices", "id", id), d.table(t, "deliveries", "notice_id", id); n != notices || s != deliveries {
		t.Fatalf("%s is in %q, its delivery in %q", id, n, s)
	}
}

// TestADayIsDropped follows a notice through its partition until it is dropped.
func TestADayIsDropped(t *testing.T) {
	t.Parallel()
	d := newDayLedger(t)
	prune := func() {
		t.Helper()
		_, err := d.Prune(t.Context(), d.now.Add(-30*24*time.Hour), 5)
		noError(t, err)
	}
	prune()
	id, err := d.commit(t, 3)
	noError(t, err)
	d.isIn(t, id, "notices_20260601", "deliveries_open")
	_, err = d.send(t)
	noError(t, err)
	d.isIn(t, id, "notices_20260601", "deliveries_ended_20260601")
	d.now = at(0).Add(32 * 24 * time.Hour)
	prune()
	d.isIn(t, id, "notices_20260601", "deliveries_ended_20260601")
	d.now = d.now.Add(24 * time.Hour)
	prune()
	d.isIn(t, id, "", "")
	var left *string
	noError(t, d.beside.QueryRow(t.Context(), "SELECT to_regclass('notices_20260601')::text").Scan(&left))
	if left != nil {
		t.Errorf("%s is still there", *left)
	}
}

// TestNoCommitFailsForWantOfAPartition commits at a time without partitions. The first pruning for which the rows are
// old enough removes them.
func TestNoCommitFailsForWantOfAPartition(t *testing.T) {
	t.Parallel()
	d := newDayLedger(t)
	for _, now := range []time.Time{at(0).AddDate(1, 0, 0), at(0).AddDate(-8, 0, 0), at(0).AddDate(100, 0, 0)} {
		d.now = now
		id, err := d.commit(t, 1)
		noError(t, err)
		_, err = d.send(t)
		noError(t, err)
		kind := "rest"
		if notice.DayOf(now).IDs() == "n_z" { // an id cannot name this day
			kind = "keyed"
		}
		d.isIn(t, id, "notices_"+kind, "deliveries_"+kind)
		// Makes the partitions of the next days, but not of this one.
		_, err = d.Prune(t.Context(), now.Add(-time.Hour), 5)
		noError(t, err)
		d.isIn(t, id, "notices_"+kind, "deliveries_"+kind)
		d.now = now.Add(25 * time.Hour)
		next, err := d.commit(t, 1)
		noError(t, err)
		if kind == "rest" {
			d.isIn(t, next, "notices_"+d.now.Format(dayFormat), "deliveries_open")
		}
		_, err = d.send(t)
		noError(t, err)
		_, err = d.Prune(t.Context(), d.now.Add(-time.Hour), 5)
		noError(t, err)
		d.isIn(t, id, "", "")
	}
}

// TestDaysEndWhileNodesWork drops days while a node commits and sends. Nothing fails, and nothing is lost or sent
// twice.
func TestDaysEndWhileNodesWork(t *testing.T) {
	t.Parallel()
	const rounds, each = 40, 20
	d := newDayLedger(t)
	pruned := make(chan error, 1)
	work := make(chan struct{})
	go func() {
		defer close(pruned)
		for n := 0; ; n++ {
			select {
			case <-work:
				return
			default:
			}
			if err := (engine{d.Ledger}).DropDays(t.Context(), at(0).AddDate(0, 1, n)); err != nil {
				pruned <- err
				return
			}
		}
	}()
	sent := 0
	for range rounds {
		_, err := d.commit(t, each)
		noError(t, err)
		n, err := d.send(t)
		noError(t, err)
		sent += n
	}
	close(work)
	noError(t, <-pruned)
	if sent != rounds*each {
		t.Errorf("%d of %d were sent", sent, rounds*each)
	}
}

// TestADayGivesWay has a reader lock both tables of a day that is to be dropped. The reader's next query is answered,
// and the day is dropped later.
func TestADayGivesWay(t *testing.T) {
	t.Parallel()
	d := newDayLedger(t)
	_, err := d.Prune(t.Context(), d.now, 5)
	noError(t, err)
	reader, err := d.beside.Begin(t.Context())
	noError(t, err)
	_, err = reader.Exec(t.Context(), "SELECT FROM deliveries")
	noError(t, err)
	dropped := make(chan error, 1)
	go func() { dropped <- engine{d.Ledger}.DropDays(t.Context(), d.now.AddDate(0, 1, 0)) }()
	testenv.Eventually(t, func() bool { // until the drop waits for the reader
		var waits bool
		err := d.pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'deliveries_ended'::regclass)").Scan(&waits)
		return err == nil && waits
	}, 10*time.Second)
	_, err = reader.Exec(t.Context(), "SELECT FROM notices")
	noError(t, err)
	noError(t, reader.Rollback(t.Context()))
	noError(t, <-dropped)
}
