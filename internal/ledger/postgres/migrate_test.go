package postgres

import (
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/rows"
	"tallyman/internal/ledger/schema"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
)

// A ledger of any older version, with data in it, is brought up to date and goes on where it stood.
func TestMigrate(t *testing.T) {
	t.Parallel()
	for version := int64(1); version < 4; version++ {
		t.Run(fmt.Sprintf("from %d", version), func(t *testing.T) {
			t.Parallel()
			checkMigrated(t, version)
		})
	}
}

func checkMigrated(t *testing.T, version int64) {
	t.Helper()
	url := testenv.Postgres(t)
	migrateTo(t, url, 1)
	fillFirstVersion(t, url)
	migrateTo(t, url, version)

	applied, err := Migrate(t.Context(), url)
	noError(t, err)
	if len(applied) == 0 || applied[0].Version != version+1 {
		t.Fatalf("applied %+v", applied)
	}
	l, err := Open(t.Context(), url, ledger.Options{Now: ledgertest.OldNow})
	noError(t, err)
	ledgertest.CheckMigrated(t, l)
	noError(t, l.Close())
}

// What was sent before its row went keeps what operators are shown of it; what waits keeps its row.
func TestMigrateSentPushes(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	migrateTo(t, url, 1)
	fillFirstVersion(t, url)
	migrateTo(t, url, 12)
	conn, err := pgx.Connect(t.Context(), url)
	noError(t, err)
	defer func() { noError(t, conn.Close(t.Context())) }()
	const waiting = ledgertest.OldSeq + 1
	for _, query := range []string{
		"INSERT INTO deliveries (seq, expires_at, lane_id, notice_id) SELECT seq + 1, expires_at, lane_id, notice_id FROM deliveries",
		`INSERT INTO pushes (seq, due, created, first_due, deadline, ends, addressee, delay, at, within, lane_id, retry, kind, unless)
			SELECT seq, 1, 1, 1, 60000000, 60000000, 0, 0, 0, 60000000, lane_id, 3, 'timed', 'read' FROM deliveries`,
		"UPDATE pushes SET due = NULL WHERE seq < (SELECT max(seq) FROM pushes)",
		"UPDATE deliveries SET state = 1 WHERE seq < (SELECT max(seq) FROM deliveries)",
	} {
		_, err := conn.Exec(t.Context(), query)
		noError(t, err)
	}
	_, err = Migrate(t.Context(), url)
	noError(t, err)

	l, err := Open(t.Context(), url, ledger.Options{Now: ledgertest.OldNow})
	noError(t, err)
	defer func() { noError(t, l.Close()) }()
	for seq, state := range map[int64]ledger.DeliveryState{ledgertest.OldSeq: ledger.DeliverySent, waiting: ledger.DeliveryPending} {
		d, err := l.Delivery(t.Context(), seq)
		noError(t, err)
		want := delivery.Strategy{Kind: delivery.Timed, Within: time.Minute, Retry: 3, Unless: delivery.UnlessRead}
		if d.State != state || d.Strategy == nil || *d.Strategy != want || !d.Deadline.Equal(time.Unix(60, 0)) {
			t.Errorf("delivery %d is %s under %+v until %s", seq, d.State, d.Strategy, d.Deadline)
		}
	}
	var left int64
	noError(t, conn.QueryRow(t.Context(), "SELECT seq FROM pushes").Scan(&left))
	if left != waiting {
		t.Errorf("delivery %d has a row", left)
	}
}

// A ledger of before rule_versions knows from its records which rules were in force.
func TestMigrateRuleVersions(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	migrateTo(t, url, 13)
	conn, err := pgx.Connect(t.Context(), url)
	noError(t, err)
	defer func() { noError(t, conn.Close(t.Context())) }()
	for _, state := range []string{ledgertest.OldVersionBefore, ledgertest.OldVersion} {
		_, err = conn.Exec(t.Context(), "INSERT INTO audit (at, actor, via, action, object, after, reason) VALUES (1, 'node:a', 'file', 'rules.reload', 'rules', $1, '')", state)
		noError(t, err)
	}
	_, err = Migrate(t.Context(), url)
	noError(t, err)
	l, err := Open(t.Context(), url, ledger.Options{})
	noError(t, err)
	ledgertest.CheckRulesMigrated(t, l)
	noError(t, l.Close())
}

// migrateTo brings the schema to an older version than this program's.
func migrateTo(t *testing.T, url string, version int64) {
	t.Helper()
	cfg, err := pgx.ParseConfig(url)
	noError(t, err)
	db := stdlib.OpenDB(*cfg)
	defer func() { noError(t, db.Close()) }()
	files, err := fs.Sub(migrationFiles, "migrations")
	noError(t, err)
	older, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithTableName(schema.Table), goose.WithDisableGlobalRegistry(true))
	noError(t, err)
	_, err = older.UpTo(t.Context(), version)
	noError(t, err)
}

func fillFirstVersion(t *testing.T, url string) {
	t.Helper()
	n := ledgertest.OldNotice()
	body, err := notice.Marshal(n)
	noError(t, err)
	conn, err := pgx.Connect(t.Context(), url)
	noError(t, err)
	defer func() { noError(t, conn.Close(t.Context())) }()
	insert := func(query string, args ...any) {
		t.Helper()
		_, err := conn.Exec(t.Context(), query, args...)
		noError(t, err)
	}
	insert("INSERT INTO rule_scopes (rule, scope, registered_at) VALUES ($1, $2, 1)", ledgertest.OldRule, ledgertest.OldScope)
	for _, key := range []string{ledgertest.OldFiring, ledgertest.OldOther} {
		st := ledgertest.OldFinding(key)
		f := rows.NewFinding(&st)
		insert(`INSERT INTO findings (scope_id, key_hash, key, phase, priority, ordinal, episode, seen_clock, absent_since,
			firing_since, last_notified, notice_id) VALUES (1, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, keyHash(f.Key), f.Key,
			f.Phase, f.Priority, f.Ordinal, f.Episode, f.SeenClock, f.AbsentSince, f.FiringSince, f.LastNotified, f.NoticeID)
	}
	insert(`INSERT INTO notices (id, type, rule, status, created_at, expires_at, first_seq, last_seq, body)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8)`, n.ID, n.Type, n.Rule, string(n.Status), rows.Micros(n.CreatedAt),
		rows.Micros(n.ExpiresAt), ledgertest.OldSeq, body)
	insert("INSERT INTO lanes (sink, warehouse) VALUES ($1, '')", ledgertest.OldSink)
	insert("INSERT INTO deliveries (seq, expires_at, lane_id, notice_id) VALUES ($1, $2, 1, $3)",
		ledgertest.OldSeq, rows.Micros(n.ExpiresAt), n.ID)
	insert("SELECT setval('deliveries_seq', $1)", ledgertest.OldSeq)
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Items of queues that were made of notices belong to the warehouses of these.
func TestMigrateItems(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	migrateTo(t, url, 1)
	fillFirstVersion(t, url)
	migrateTo(t, url, 14)
	conn, err := pgx.Connect(t.Context(), url)
	noError(t, err)
	defer func() { noError(t, conn.Close(t.Context())) }()
	for _, query := range []string{
		"UPDATE notices SET warehouse = '" + ledgertest.OldNotice().Warehouse + "'",
		"INSERT INTO queues (name, sink) VALUES ('old', 'old')",
		`INSERT INTO items (seq, queue_id, id, priority, created_at, ready_at, until_at, bucket, dedupe_key, subject, pushed_by, node, payload)
			SELECT 1, id, '` + ledgertest.OldNotice().ID + `', 3, 1, 1, 0, '', '', '', '', '', '{}' FROM queues`,
		`INSERT INTO items (seq, queue_id, id, priority, created_at, ready_at, until_at, bucket, dedupe_key, subject, pushed_by, node, payload)
			SELECT 2, id, 'pushed', 3, 1, 1, 0, '', '', '', '', '', '{}' FROM queues`,
		`INSERT INTO open_items (queue_id, seq, state, moves, attempt, failures, suspends, due, assignee, subject_hash)
			SELECT queue_id, seq, 'r', 0, 0, 0, 0, 0, '', 0 FROM items`,
	} {
		_, err := conn.Exec(t.Context(), query)
		noError(t, err)
	}
	_, err = Migrate(t.Context(), url)
	noError(t, err)
	l, err := Open(t.Context(), url, ledger.Options{Now: ledgertest.OldNow})
	noError(t, err)
	ledgertest.CheckMigratedItems(t, l)
	noError(t, l.Close())
}
