package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
)

// TestItemsAreFoundByKey works on a queue with a hundred thousand open items, using plans from a time when the queue
// was empty. The work for an item must not grow with the number of items.
func TestItemsAreFoundByKey(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	migrate(t, url)
	// Otherwise the server would make new plans.
	execute(t, url, "ALTER TABLE open_items SET (autovacuum_enabled = false)")
	l := open(t, url, ledger.Options{MaxConnections: 1})
	if err := l.BeginEpoch(t.Context(), "q", "", ledger.IndexState{Epoch: "e1"}, "a", 0); err != nil {
		t.Fatal(err)
	}
	const rounds, batch = 10, 10
	for n := 1; n <= rounds; n++ {
		workRound(t, l, n, batch)
	}
	execute(t, url, `INSERT INTO open_items (seq, moves, due, subject_hash, queue_id, attempt, failures, suspends, state, assignee)
		SELECT -n, 0, 0, 0, (SELECT id FROM queues), 0, 0, 0, 'r', '' FROM generate_series(1, 100000) AS n`)
	before := indexBlocks(t, url)
	for n := rounds + 1; n <= 2*rounds; n++ {
		workRound(t, l, n, batch)
	}
	if err := l.Close(); err != nil { // the server publishes its counters when the connection ends
		t.Fatal(err)
	}
	// Items are changed, ended, read for events, looked up, listed and read: each is a lookup of three blocks. The
	// server publishes its counters in steps, so a part of the first rounds may be included. A scan of the open items
	// would read about three hundred blocks.
	const lookups = 2 * 8 * 3 * batch * rounds
	testenv.Eventually(t, func() bool { return indexBlocks(t, url) > before+batch*rounds }, 10*time.Second)
	if got := indexBlocks(t, url) - before; got > lookups {
		t.Errorf("%d blocks of the index were read for %d items", got, rounds*batch)
	}
}

// workRound pushes items, changes all, and ends all but one of them. Then it repeats pushes and reads the last few
// items.
func workRound(t *testing.T, l ledger.Ledger, n, batch int) {
	t.Helper()
	items := make([]item.Record, batch)
	for i := range items {
		items[i] = item.Record{New: item.New{ID: fmt.Sprintf("i_%04d_%04d", n, i), Priority: 3, Created: at(n)}, State: item.Ready}
	}
	known, err := l.PushItems(t.Context(), "q", items)
	if err != nil {
		t.Fatal(err)
	}
	var changed, ended []item.Move
	seqs := make([]int64, batch)
	for i, k := range known {
		seqs[i] = k.Seq
		changed = append(changed, item.Move{Seq: k.Seq, N: 1, From: item.Ready, To: item.Leased})
		if i > 0 {
			ended = append(ended, item.Move{Seq: k.Seq, N: 2, From: item.Leased, To: []item.State{item.Done, item.Removed}[i%2]})
		}
	}
	for i, moves := range [][]item.Move{changed, ended} {
		if err := l.ApplyMoves(t.Context(), "q", "e1", []item.Moves{{Position: int64(2*n + i), List: moves, Events: tellsDone}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.PushItems(t.Context(), "q", items); err != nil {
		t.Fatal(err)
	}
	still, err := l.UnfinishedItems(t.Context(), "q", seqs[0]-1, 10)
	if err != nil || len(still) != 1 {
		t.Fatalf("%d are unfinished, %v", len(still), err)
	}
	if _, _, err := l.EndedItems(t.Context(), "q", item.Done, nil, 0, 10); err != nil {
		t.Fatal(err)
	}
}

// indexBlocks returns how many blocks of the key of open_items were read.
func indexBlocks(t *testing.T, url string) int64 {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var n int64
	query := "SELECT idx_blks_read + idx_blks_hit FROM pg_statio_user_indexes WHERE indexrelname = 'open_items_pkey'"
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPushesAreFoundByIndex works on a push channel with a hundred thousand pending deliveries, using plans from a
// time when it was empty. The work for a delivery must not grow with their number.
func TestPushesAreFoundByIndex(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	migrate(t, url)
	execute(t, url, "ALTER TABLE pushes SET (autovacuum_enabled = false)") // otherwise the server would make new plans
	l := open(t, url, ledger.Options{MaxConnections: 1})
	if _, err := l.Register(t.Context(), "r", "", 0, at(0)); err != nil {
		t.Fatal(err)
	}
	const rounds = 8 // the server plans the first executions for their arguments
	for n := 1; n <= rounds; n++ {
		pushRound(t, l, n)
	}
	execute(t, url, `INSERT INTO pushes (seq, due, first_due, deadline, ends, finding, addressee, delay, at, within, lane_id, retry, kind, unless)
		SELECT -n, (1::bigint << 60) + n, 0, 0, 1::bigint << 61, n, 0, 0, 0, 0, (SELECT id FROM lanes), 0, 'delayed', ''
		FROM generate_series(1, 100000) AS n`)
	scans, read := pushScans(t, url)
	for n := rounds + 1; n <= 2*rounds; n++ {
		pushRound(t, l, n)
	}
	if err := l.Close(); err != nil { // the server publishes its counters when the connection ends
		t.Fatal(err)
	}
	testenv.Eventually(t, func() bool { _, now := pushScans(t, url); return now > read }, 10*time.Second)
	after, now := pushScans(t, url)
	if after != scans {
		t.Errorf("the table was read from end to end %d times", after-scans)
	}
	// One full read of the pending deliveries in each round would be 800,000. The counter also includes the index
	// entries of old row versions, which stay as long as some transaction may see them.
	if got := now - read; got > 400_000 {
		t.Errorf("%d entries of indexes were read for %d rounds", got, rounds)
	}
}

// pushRound commits notices, resolves an earlier one, tries due deliveries, and does everything that a node and an
// operator do.
func pushRound(t *testing.T, l ledger.Ledger, n int) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, now := t.Context(), time.Now()
	c, err := l.Claim(ctx, "r", "", 0, at(n), "a", time.Minute)
	check(err)
	run := &ledger.Commit{Run: ledger.Run{Rule: "r", Due: c.Due, Started: now}, Scope: finding.Scope{LastDue: c.Due}}
	target := []ledger.Target{{Sink: "sms", Strategy: &delivery.Strategy{Kind: delivery.Important}}}
	for i := range 10 {
		run.Notices = append(run.Notices, ledger.NewNotice{Sinks: target, Notice: &notice.Notice{
			ID: fmt.Sprintf("n_%d_%d", n, i), Rule: "r", Key: fmt.Sprint(i / 2), Status: notice.Firing, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		}})
	}
	if n > 1 {
		before := fmt.Sprintf("n_%d_0", n-1)
		run.Over = []string{before}
		run.Notices = append(run.Notices, ledger.NewNotice{Sinks: target, After: before, Notice: &notice.Notice{
			ID: "over " + before, Rule: "r", Key: "0", Status: notice.Resolved, Episode: "1", CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		}})
	}
	_, err = l.Commit(ctx, c, run)
	check(err)
	_, _, err = l.EndPushes(ctx, "sms", 100)
	check(err)
	for range 2 {
		claims, err := l.ClaimPushes(ctx, "sms", "a", time.Minute, 100)
		check(err)
		var settled []delivery.Settlement
		var seqs []int64
		kinds := []delivery.SettleKind{delivery.SettleSent, delivery.SettleFailed, delivery.SettleAgain, delivery.SettleRelease}
		for i := range claims.List {
			seqs = append(seqs, claims.List[i].Seq)
			settled = append(settled, delivery.Settlement{Seq: claims.List[i].Seq, Token: claims.List[i].Token, Kind: kinds[i%len(kinds)]})
		}
		check(l.SettlePushes(ctx, settled))
		_, _, err = l.RetryDeliveries(ctx, ledgertest.Ann, seqs)
		check(err)
		_, err = l.CancelDeliveries(ctx, ledgertest.Ann, seqs, "no")
		check(err)
	}
}

// pushScans returns how often pushes was read from end to end, and how many entries of its indexes were read.
func pushScans(t *testing.T, url string) (scans, entries int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	query := `SELECT t.seq_scan, (SELECT sum(i.idx_tup_read)::bigint FROM pg_stat_user_indexes i WHERE i.relname = 'pushes')
		FROM pg_stat_user_tables t WHERE t.relname = 'pushes'`
	if err := conn.QueryRow(t.Context(), query).Scan(&scans, &entries); err != nil {
		t.Fatal(err)
	}
	return scans, entries
}

// TestPushesChangeNoIndex checks what keeps claims and settlements cheap. A claimed row is written beside the old
// version. The row of a sent delivery is deleted. Neither changes an index.
func TestPushesChangeNoIndex(t *testing.T) {
	t.Parallel()
	const deliveries = 500
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	url := migrated(t)
	l := open(t, url, ledger.Options{MaxConnections: 1})
	prepare(t, l)
	c, err := l.Claim(t.Context(), "r", "", 0, at(1), "a", time.Hour)
	check(err)
	run := commitOf(c, 1, deliveries)
	for i := range run.Notices {
		run.Notices[i].Sinks[0].Strategy = &delivery.Strategy{Kind: delivery.Important}
	}
	_, err = l.Commit(t.Context(), c, run)
	check(err)
	claims, err := l.ClaimPushes(t.Context(), "gateway", "a", time.Minute, deliveries)
	check(err)
	if len(claims.List) != deliveries {
		t.Fatalf("%d were claimed", len(claims.List))
	}
	settled := make([]delivery.Settlement, deliveries)
	for i := range settled {
		settled[i] = delivery.Settlement{Seq: claims.List[i].Seq, Token: claims.List[i].Token, Kind: delivery.SettleSent}
	}
	check(l.SettlePushes(t.Context(), settled))
	check(l.Close()) // the server publishes its counters when the connection ends
	conn, err := pgx.Connect(t.Context(), url)
	check(err)
	defer func() { _ = conn.Close(t.Context()) }()
	var changed, beside, left int64
	testenv.Eventually(t, func() bool {
		err := conn.QueryRow(t.Context(), "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'pushes'").Scan(&changed, &beside)
		return err == nil && changed > 0
	}, 20*time.Second)
	if changed != deliveries || beside != changed {
		t.Errorf("%d rows were changed, %d of them beside the old ones", changed, beside)
	}
	check(conn.QueryRow(t.Context(), "SELECT count(*) FROM pushes").Scan(&left))
	if left != 0 {
		t.Errorf("%d rows are left of what was sent", left)
	}
}
