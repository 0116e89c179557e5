package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"tallyman/internal/finding"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/notice"
)

// The shape of a ledger that BenchmarkGrowth fills. The history grows with the number of notices. The open data does
// not: the current work is the same for a small and a large history.
const (
	grownDays       = 30
	grownWarehouses = 20
	grownScopes     = 50 * grownWarehouses // each of 50 rules runs in each warehouse
	grownBatch      = 10                   // notices of a commit
	grownEpisodes   = 4                    // episodes of a finding
	grownRuns       = 100                  // kept runs of each rule and scope
	grownFindings   = 20_000               // open findings, at most a tenth of the notices
	grownPending    = 5_000                // pending deliveries, at most a tenth of the notices, of the latest notices
	grownOpenItems  = 5_000                // at most a tenth of the items
	grownPortion    = 1000                 // commits in one transaction of the filling
	itemsPerNotice  = 0.1
)

// grownLedger is a ledger with a history of 30 days.
type grownLedger struct {
	*Ledger
	url     string
	notices int
	items   int
	first   notice.Day
	now     time.Time // creation time of the latest notice
	step    time.Duration
	scopes  []int32 // ids of rules in scopes, by number
	lanes   []int64 // of the inbox, by warehouse
	queue   int64
	took    time.Duration // time of the filling, with indexes, VACUUM and ANALYZE
}

// commits returns the number of commits that made the notices.
func (g *grownLedger) commits() int { return g.notices / grownBatch }

// commitAt returns the time of the c-th commit.
func (g *grownLedger) commitAt(c int) time.Time {
	return g.first.Begin().Add(time.Duration(c+1) * g.step)
}

func grownRule(scope int) string      { return fmt.Sprintf("rule-%02d", scope/grownWarehouses) }
func grownWarehouse(scope int) string { return fmt.Sprintf("WH%02d", scope%grownWarehouses) }
func grownType(scope int) string      { return fmt.Sprintf("TYPE_%02d", scope/grownWarehouses%25) }

// every returns n, if some of all things are chosen as every n-th of them.
func every(all, some int) int { return max(1, all/some) }

// notice makes the i-th notice, and the finding that it leaves open, if any. Notices alternate between new findings
// and findings that began ten minutes earlier and are over. One in 1,000 lives for a year.
func (g *grownLedger) notice(i int) (n *notice.Notice, open *finding.State) {
	c, slot := i/grownBatch, i%grownBatch
	scope, turn := c%grownScopes, c/grownScopes
	at := g.commitAt(c)
	number := turn%max(1, g.commits()/grownScopes/grownEpisodes)*grownBatch/2 + slot/2
	bin, sku := fmt.Sprintf("%c-%02d-%04d", 'A'+number%8, scope%90, number%9000), fmt.Sprintf("SKU-%06d", number*7919%1_000_000)
	status, began, firing := notice.Firing, at, slot%2 == 0
	isOpen := firing && i/2%every(g.notices/2, min(grownFindings, g.notices/10)) == 0
	switch {
	case isOpen:
		sku = fmt.Sprintf("SKU-%06d-%d", number, i) // the only notice about this SKU
	case !firing:
		status, began = notice.Resolved, at.Add(-10*time.Minute)
	}
	life := 24 * time.Hour
	if i%1000 == 0 {
		life = 365 * 24 * time.Hour
	}
	n = &notice.Notice{
		Type: grownType(scope), TypeID: int64(scope / grownWarehouses), Warehouse: grownWarehouse(scope), Rule: grownRule(scope), Scope: grownWarehouse(scope),
		Key: fmt.Sprintf("[%q,%q]", bin, sku), Episode: notice.EpisodeAt(0, began), Status: status, Priority: 1 + i*7%5, Modal: "popup",
		Title: fmt.Sprintf("Bin %s is short of %s: %d", bin, sku, -i%50),
		Body:  strings.Repeat("Replenish the bin from the bulk area. ", 2+i*31%13),
		Data: []notice.Field{
			{Name: "bin", Value: bin}, {Name: "sku", Value: sku}, {Name: "qty", Value: fmt.Sprint(-i % 50)}, {Name: "wave", Value: fmt.Sprintf("W-%06d", c%1_000_000)},
		},
		Labels: map[string]string{"area": "replenishment"}, Count: 1, CreatedAt: at, ExpiresAt: at.Add(life),
	}
	n.ID = notice.ID(n.Rule, n.Scope, n.Key, n.Episode, n.Status, 0)
	if isOpen {
		open = &finding.State{
			Key: n.Key, Phase: finding.Firing, Episode: at, SinceClock: time.Hour, FiringSince: at, Priority: n.Priority, LastNotified: at, Ordinal: 1, NoticeID: n.ID,
		}
	}
	return n, open
}

// growLedger fills a new database with notices of 30 days, each with a delivery to an inbox, and with matching
// findings, runs and items. It writes the rows by COPY with the ledger's own encoders, portion by portion.
func growLedger(b *testing.B, url string, notices int) *grownLedger {
	b.Helper()
	began := time.Now()
	_, err := Migrate(b.Context(), url)
	check(b, err)
	l, err := Open(b.Context(), url, ledger.Options{})
	check(b, err)
	b.Cleanup(func() { check(b, l.Close()) })
	g := &grownLedger{Ledger: l, url: url, notices: notices / grownScopes / grownBatch * grownScopes * grownBatch, now: began}
	g.items = int(float64(g.notices) * itemsPerNotice)
	g.first = notice.DayOf(began) - grownDays + 1
	g.step = began.Sub(g.first.Begin()) / time.Duration(g.commits())
	g.prepare(b)
	g.inPortions(b, g.commits(), grownPortion, g.fillCommits)
	g.inPortions(b, g.items, grownPortion*grownBatch, g.fillItems)
	g.fillRuns(b)
	check(b, g.execute(b.Context(), fmt.Sprintf("SELECT setval('deliveries_seq', %d)", g.notices)))
	check(b, g.execute(b.Context(), "VACUUM (ANALYZE)"))
	check(b, g.execute(b.Context(), "CHECKPOINT"))
	g.took = time.Since(began)
	fmt.Fprintf(os.Stdout, "%d notices and %d items were filled in %s\n", g.notices, g.items, g.took.Round(time.Second))
	return g
}

// prepare makes the partitions, rules in scopes, lanes, subscriptions and the queue.
func (g *grownLedger) prepare(b *testing.B) {
	b.Helper()
	ctx := b.Context()
	for day := g.first; day < g.first+grownDays; day++ {
		us := day.Begin().UnixMicro()
		check(b, makeDays(ctx, g.pool, &us))
	}
	var group errgroup.Group
	for scope := range grownScopes { // calls at the same time share a statement
		group.Go(func() error {
			_, err := g.Register(ctx, grownRule(scope), grownWarehouse(scope), 0, g.first.Begin())
			return err
		})
	}
	check(b, group.Wait())
	ids, err := g.pool.Query(ctx, "SELECT id FROM rule_scopes ORDER BY rule, scope")
	check(b, err)
	g.scopes, err = pgx.CollectRows(ids, pgx.RowTo[int32])
	check(b, err)
	lanes := make([]ledger.Lane, grownWarehouses)
	for w := range lanes {
		lanes[w] = ledger.Lane{Sink: "inbox", Warehouse: grownWarehouse(w)}
	}
	g.lanes, err = g.IDs.MakeLanes(ctx, lanes)
	check(b, err)
	check(b, g.execute(ctx, "INSERT INTO types SELECT DISTINCT t, n, t, '', '', 0, '', '' FROM (SELECT 'TYPE_' || lpad(n::text, 2, '0') AS t, n FROM generate_series(0, 24) AS n) AS t"))
	check(b, g.execute(ctx, "INSERT INTO subscriptions (type, warehouse, subscriber) SELECT code, '*', 'role:keeper' FROM types"))
	check(b, g.BeginEpoch(ctx, "inbox", "", ledger.IndexState{Epoch: "e1"}, "a", 0))
	check(b, g.BeginEpoch(ctx, "queue", "", ledger.IndexState{Epoch: "e1"}, "a", 0))
	_, err = g.PushItems(ctx, "queue", []item.Record{g.item(g.items)}) // makes the queue
	check(b, err)
	check(b, g.pool.QueryRow(ctx, "SELECT id FROM queues WHERE name = 'queue'").Scan(&g.queue))
}

func (g *grownLedger) execute(ctx context.Context, sql string) error {
	_, err := g.pool.Exec(ctx, sql)
	return err
}

// inPortions writes everything over four connections, one transaction for each portion.
func (g *grownLedger) inPortions(b *testing.B, all, size int, write func(ctx context.Context, conn *pgx.Conn, from, to int) error) {
	b.Helper()
	group, ctx := errgroup.WithContext(b.Context())
	group.SetLimit(4)
	for from := 0; from < all; from += size {
		group.Go(func() error {
			return pgx.BeginFunc(ctx, g.pool, func(tx pgx.Tx) error {
				// A CHECKPOINT follows later.
				if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
					return err
				}
				return write(ctx, tx.Conn(), from, min(from+size, all))
			})
		})
	}
	check(b, group.Wait())
}

// add appends other rows.
func (c *copyRows) add(rows *copyRows) {
	c.buf = append(c.buf, rows.buf[len(copyHeader):]...)
	c.n += rows.n
}

// fillCommits writes commits with their notices, findings and deliveries.
func (g *grownLedger) fillCommits(ctx context.Context, conn *pgx.Conn, from, to int) error {
	notices, ended, open, findings := newCopyRows(grownPortion*grownBatch*1000), newCopyRows(grownPortion*grownBatch*200), newCopyRows(0), newCopyRows(0)
	for c := from; c < to; c++ {
		run := &ledger.Commit{}
		seqs := make([]int64, grownBatch)
		deliveries := make([]codec.Delivery, grownBatch)
		for slot := range grownBatch {
			i := c*grownBatch + slot
			n, state := g.notice(i)
			seqs[slot] = int64(i + 1)
			deliveries[slot] = codec.Delivery{Notice: slot, Recipients: "role:keeper", Expires: codec.Micros(n.ExpiresAt)}
			run.Notices = append(run.Notices, ledger.NewNotice{Notice: n, Sinks: []ledger.Target{{Sink: "inbox", Inbox: true}}})
			if state != nil {
				row := fmt.Appendf(nil, `{"wh_id":%q,"key":%s,"qty":%d,"wave_no":%d}`, n.Warehouse, n.Key, -i%50, c)
				run.Findings = append(run.Findings, ledger.FindingChange{State: *state, Op: ledger.Insert, Row: row})
			}
		}
		w := &noticeWriter{plan: codec.PlanOf(run.Notices), lanes: g.lanes[c%grownWarehouses : c%grownWarehouses+1]}
		if err := w.plan.Encode()(); err != nil {
			return err
		}
		notices.add(w.copyNotices(deliveries, seqs))
		findings.add(newFindingChanges(g.scopes[c%grownScopes], codec.Micros(g.commitAt(c)), run).inserts)
		if (c+1)*grownBatch > g.notices-min(grownPending, g.notices/10) {
			open.add(w.copyDeliveries(deliveries, seqs))
			continue
		}
		for slot := range deliveries {
			ended.endedDelivery(g.commitAt(c), seqs[slot], w.lanes[0], w.plan.Notices[slot].ID, &deliveries[slot])
		}
	}
	if err := findings.run(ctx, conn, "copy-findings"); err != nil {
		return err
	}
	if err := open.run(ctx, conn, "copy-deliveries"); err != nil {
		return err
	}
	if err := notices.run(ctx, conn, "copy-notices"); err != nil {
		return err
	}
	return ended.copyTo(ctx, conn, "deliveries_ended (seq, expires_at, score, ended_at, lane_id, attempts, state, notice_id, recipients, epoch)")
}

// endedDelivery adds a sent delivery; one in 200 is canceled instead. The score equals the number, because both
// ascend in a warehouse.
func (c *copyRows) endedDelivery(created time.Time, seq, lane int64, id string, d *codec.Delivery) {
	state, score, sent, epoch := int16(ledger.DeliverySent), seq, codec.Micros(created.Add(time.Second)), "e1"
	if seq%200 == 0 {
		state, score, sent, epoch = int16(ledger.DeliveryCanceled), 0, 0, ""
	}
	c.row(10)
	for _, v := range []int64{seq, d.Expires, score, sent} {
		c.int64(v)
	}
	c.id(lane)
	c.int32(1)
	c.int16(state)
	c.text(id)
	c.text(d.Recipients)
	c.text(epoch)
}

// copyTo sends the rows to the table and its columns.
func (c *copyRows) copyTo(ctx context.Context, conn *pgx.Conn, table string) error {
	if c.n == 0 {
		return nil
	}
	_, err := conn.PgConn().CopyFrom(ctx, strings.NewReader(string(append(c.buf, copyTrailer...))), "COPY "+table+" FROM STDIN BINARY")
	return err
}

// item makes the k-th item. Items are spread over time like notices.
func (g *grownLedger) item(k int) item.Record {
	at := g.first.Begin().Add(time.Duration(k) * (g.now.Sub(g.first.Begin()) / time.Duration(g.items)))
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], uint64(k)*0x9e3779b97f4a7c15)
	return item.Record{
		New: item.New{
			ID: fmt.Sprintf("i_%010x%x", at.UnixMilli(), id), Warehouse: grownWarehouse(k), Priority: 1 + k%5, Created: at,
			DedupeKey: fmt.Sprintf("bin-%d", k%max(1, g.items/4)), Subject: fmt.Sprintf("SKU-%06d", k%1_000_000),
			Payload: []byte(`{"bin":"A-01-0077","note":"` + strings.Repeat("r", 100+k*31%300) + `"}`),
		},
		Ready: at, By: "producer", Node: "node-1", State: item.Ready,
	}
}

// fillItems writes items that were leased and done, except the latest ones, which are open.
func (g *grownLedger) fillItems(ctx context.Context, conn *pgx.Conn, from, to int) error {
	var items, open []codec.Item
	var moves item.Moves
	for k := from; k < to; k++ {
		r := g.item(k)
		day := notice.DayOf(r.Created)
		ofDay := k - int(day.Begin().Sub(g.first.Begin())/(g.now.Sub(g.first.Begin())/time.Duration(g.items)))
		seq := firstItem(day) + int64(ofDay) + 1
		leased := item.Move{
			Seq: seq, N: 1, At: r.Created.Add(time.Minute), From: item.Ready, To: item.Leased, Attempt: 1, Due: r.Created.Add(2 * time.Minute), By: "worker-1", Node: "node-1",
		}
		done := leased
		done.N, done.At, done.From, done.To, done.Due = 2, leased.At.Add(10*time.Second), item.Leased, item.Done, time.Time{}
		items = append(items, codec.NewItem(&r, seq))
		if g.items-k <= min(grownOpenItems, g.items/10) {
			open = append(open, items[len(items)-1])
			continue
		}
		moves.List = append(moves.List, leased, done)
	}
	moves.Position = 1
	p := &push{queue: g.queue}
	for _, copied := range []struct {
		rows *copyRows
		name string
	}{
		{copyMoves(codec.NewApply([]item.Moves{moves}, 0).Traces), "copy-item-moves"}, {p.copyOpen(open), "copy-open-items"}, {p.copyItems(items), "copy-items"},
	} {
		if err := copied.rows.run(ctx, conn, copied.name); err != nil {
			return err
		}
	}
	return nil
}

// fillRuns writes the records of the last runs: one run for each commit, and at most 100 for each rule and scope.
func (g *grownLedger) fillRuns(b *testing.B) {
	b.Helper()
	turns := g.commits() / grownScopes
	run := fmt.Sprintf(`SELECT s.rule, s.scope, t.due, 1, '', 'node-1', t.due + 1000000, 20000 + t.due %% 7000, CASE WHEN t.due %% 50 = 0 THEN 'failed' ELSE 'ok' END,
			2000, 7, 0, 3, 7, %d, 0, '', '', t.due
		FROM (SELECT rule, scope, row_number() OVER (ORDER BY rule, scope) - 1 AS n FROM rule_scopes) AS s,
			generate_series($1::bigint, $2::bigint) AS k, LATERAL (SELECT %d + (k * %d + s.n + 1) * %d / 1000 - 1000000 AS due) AS t`,
		grownBatch, g.first.Begin().UnixMicro(), grownScopes, g.step.Nanoseconds())
	columns := "(rule, scope, due, token, answer, node, started_at, duration, outcome, row_count, matched, errored, pending, firing, notices, unsubscribed, error, samples, last_due)"
	for table, between := range map[string][2]int{"past_firings": {max(0, turns-grownRuns), turns - 2}, "firings": {turns - 1, turns - 1}} {
		_, err := g.pool.Exec(b.Context(), "INSERT INTO "+table+" "+columns+" "+run, between[0], between[1])
		check(b, err)
	}
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
