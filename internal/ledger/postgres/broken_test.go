package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
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
	"tallyman/rules/catalog"
)

// TestBrokenConnections breaks the connection at every stage of claims and commits. The node repeats them until they
// are answered. In the end each firing has been written once and completely.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	direct := migrated(t)
	line := newLine(t, direct)
	l := open(t, line.url, ledger.Options{MaxConnections: 2})
	prepare(t, l)

	const firings, perFiring = 4, 20
	for n := 1; n <= firings; n++ {
		var c ledger.Claim
		line.until(t, func() error {
			var err error
			// No lease, so that a claim with a lost answer is free again.
			c, err = l.Claim(t.Context(), "r", "", 0, at(n), "a", 0)
			return err
		})
		run := commitOf(c, n, perFiring)
		line.until(t, func() error {
			done, err := l.Commit(t.Context(), c, run)
			if err == nil && done.Deliveries != perFiring {
				t.Fatalf("firing %d was answered with %+v", n, done)
			}
			return err
		})
	}
	t.Logf("%d calls broke", line.broken)
	if line.broken == 0 {
		t.Error("no call broke: the test shows nothing")
	}

	l = open(t, direct, ledger.Options{})
	runs, err := l.Runs(t.Context(), "r", nil, 1000)
	if err != nil || len(runs) != firings {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	findings, err := l.Findings(t.Context(), "r", "")
	if err != nil || len(findings) != firings*perFiring {
		t.Fatalf("%d findings, %v", len(findings), err)
	}
	counts, err := l.CountDeliveries(t.Context())
	if err != nil || counts["gateway"][ledger.DeliveryPending] != firings*perFiring {
		t.Fatalf("deliveries %v, %v", counts, err)
	}
}

// TestServerRestart kills the server of an open ledger. The ledger works again when the server is back.
func TestServerRestart(t *testing.T) {
	t.Parallel()
	server := testenv.PostgresServer(t)
	url := server.Database()
	migrate(t, url)
	l := open(t, url, ledger.Options{})
	prepare(t, l)
	c, err := l.Claim(t.Context(), "r", "", 0, at(1), "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Commit(t.Context(), c, commitOf(c, 1, 10)); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := l.Ping(t.Context()); err == nil {
		t.Error("a dead server answers")
	}
	if _, err := l.Claim(t.Context(), "r", "", 0, at(2), "a", time.Hour); err == nil {
		t.Error("a dead server gives claims")
	}
	server.Restart()
	testenv.Eventually(t, func() bool { return l.Ping(t.Context()) == nil }, 20*time.Second)
	list, err := l.Pending(t.Context(), ledger.Lane{Sink: "gateway"}, 100)
	if err != nil || len(list) != 10 {
		t.Fatalf("%d deliveries survived, %v", len(list), err)
	}
}

// lineName is the application_name of connections through a line.
const lineName = "line"

// line is a connection path to the server that breaks during each call, each time a little later, until a call
// finishes before the break.
type line struct {
	url    string // URL of the ledger through the line
	proxy  *testenv.Proxy
	target string
	beside *pgx.Conn // a connection that does not break
	broken int
}

func newLine(t *testing.T, direct string) *line {
	t.Helper()
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	l := &line{target: u.Host, proxy: testenv.NewProxy(t, u.Host)}
	if l.beside, err = pgx.Connect(t.Context(), direct); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.beside.Close(context.WithoutCancel(t.Context())) })
	u.Host = l.proxy.Addr
	query := u.Query()
	query.Set("application_name", lineName)
	u.RawQuery = query.Encode()
	l.url = u.String()
	return l
}

// until calls do until it succeeds.
func (l *line) until(t *testing.T, do func() error) {
	t.Helper()
	for try := 1; ; try++ {
		cut := time.AfterFunc(time.Duration(try*try)*time.Millisecond/4, l.cut)
		err := do()
		cut.Stop()
		for _, answer := range []error{ledger.ErrFenced, ledger.ErrDone, ledger.ErrBusy} {
			if errors.Is(err, answer) {
				t.Fatalf("%v: a broken connection was taken for an answer", err)
			}
		}
		if err == nil {
			return
		}
		l.broken++
		if try == 1000 {
			t.Fatal(err)
		}
		l.settle(t)
	}
}

// cut breaks the open connections. New connections work.
func (l *line) cut() { l.proxy.Point(l.target) }

// settle waits until the server has finished everything that reached it before the cut. Otherwise it might undo the
// next call.
func (l *line) settle(t *testing.T) {
	t.Helper()
	l.cut()
	const query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1"
	testenv.Eventually(t, func() bool {
		left := -1
		if err := l.beside.QueryRow(t.Context(), query, lineName).Scan(&left); err != nil {
			t.Fatal(err)
		}
		return left == 0
	}, 20*time.Second)
}

func at(n int) time.Time {
	return time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
}

// prepare registers the rule and its type.
func prepare(t testing.TB, l ledger.Ledger) {
	t.Helper()
	if _, err := l.Register(t.Context(), "r", "", 0, at(0)); err != nil {
		t.Fatal(err)
	}
	if err := l.PutType(t.Context(), ledgertest.Ann, catalog.Type{Code: "REP_NOTICE", ID: 1}); err != nil {
		t.Fatal(err)
	}
}

// commitOf makes the commit of the n-th firing with that many new findings, each with a notice to the gateway.
func commitOf(c ledger.Claim, n, findings int) *ledger.Commit {
	run := &ledger.Commit{
		Run:   ledger.Run{Rule: c.Rule, Scope: c.Scope, Due: c.Due, Node: c.Node, Started: c.Due, Outcome: ledger.OutcomeOK},
		Scope: finding.Scope{LastDue: c.Due, LastOKDue: c.Due},
	}
	for i := range findings {
		id := fmt.Sprintf("n_%04d_%04d", n, i)
		run.Findings = append(run.Findings, ledger.FindingChange{
			Op: ledger.Insert, State: finding.State{Key: id, Phase: finding.Firing, Episode: c.Due, NoticeID: id},
		})
		run.Notices = append(run.Notices, ledger.NewNotice{
			Notice: &notice.Notice{
				ID: id, Type: "REP_NOTICE", Warehouse: "119240", Rule: c.Rule, Key: id, Status: notice.Firing, Priority: 3, Count: 1,
				CreatedAt: c.Due, ExpiresAt: at(1_000_000),
			},
			Sinks: []ledger.Target{{Sink: "gateway"}},
		})
	}
	return run
}

// TestBrokenConnectionsOfQueues breaks the connection at every stage of pushes and moves. The node repeats them until
// they are answered. In the end each item, each move and each event has been recorded once.
func TestBrokenConnectionsOfQueues(t *testing.T) {
	t.Parallel()
	direct := migrated(t)
	line := newLine(t, direct)
	l := open(t, line.url, ledger.Options{MaxConnections: 2})
	line.until(t, func() error {
		err := l.BeginEpoch(t.Context(), "q", "", ledger.IndexState{Epoch: "e1"}, "a", 0)
		if !errors.Is(err, ledger.ErrFenced) {
			return err
		}
		s, err := l.IndexState(t.Context(), "q") // the answer to the previous call was lost
		if err == nil && s.Epoch != "e1" {
			t.Fatalf("the epoch is %q", s.Epoch)
		}
		return err
	})

	const rounds, batch = 4, 20
	for n := 1; n <= rounds; n++ {
		items := make([]item.Record, batch)
		for i := range items {
			items[i] = item.Record{New: item.New{ID: fmt.Sprintf("i_%d_%d", n, i), Priority: 3, Created: at(n)}, State: item.Ready}
		}
		var known []item.PushAnswer
		line.until(t, func() error {
			var err error
			known, err = l.PushItems(t.Context(), "q", items)
			return err
		})
		moves := item.Moves{Position: int64(n), Events: tellsDone}
		for i, k := range known {
			moves.List = append(moves.List, item.Move{Seq: k.Seq, N: 1, At: at(n), From: item.Ready, To: item.Leased})
			if i > 0 {
				moves.List = append(moves.List, item.Move{Seq: k.Seq, N: 2, At: at(n), From: item.Leased, To: item.Done})
			}
		}
		line.until(t, func() error { return l.ApplyMoves(t.Context(), "q", "e1", []item.Moves{moves}) })
	}
	t.Logf("%d calls broke", line.broken)
	if line.broken == 0 {
		t.Error("no call broke: the test shows nothing")
	}

	l = open(t, direct, ledger.Options{})
	left, err := l.UnfinishedItems(t.Context(), "q", 0, 1000)
	if err != nil || len(left) != rounds {
		t.Fatalf("%d items are unfinished, %v", len(left), err)
	}
	done, _, err := l.EndedItems(t.Context(), "q", item.Done, nil, 0, 1000)
	if err != nil || len(done) != rounds*(batch-1) {
		t.Fatalf("%d items are done, %v", len(done), err)
	}
	for i := range done {
		_, trace, err := l.ItemTrace(t.Context(), "q", done[i].ID)
		if err != nil || len(trace) != 3 {
			t.Fatalf("%s has %d moves, %v", done[i].ID, len(trace), err)
		}
	}
	counts, err := l.CountDeliveries(t.Context())
	if got := counts[tellsDone.Sink][ledger.DeliveryPending]; err != nil || got != rounds*(batch-1) {
		t.Errorf("%d events, %v", got, err)
	}
}

// tellsDone sends the event "done" to a push channel.
var tellsDone = &item.Events{Sink: "gateway", On: []item.Event{item.EventDone}, Strategy: delivery.Strategy{Kind: delivery.Important}}

// TestBrokenConnectionsOfPushes breaks the connection at every stage of claims and settlements. They are repeated
// until they are answered. Each attempt is recorded once.
func TestBrokenConnectionsOfPushes(t *testing.T) {
	t.Parallel()
	direct := migrated(t)
	straight := open(t, direct, ledger.Options{})
	prepare(t, straight)
	c, err := straight.Claim(t.Context(), "r", "", 0, at(1), "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	const deliveries = 20
	run := commitOf(c, 1, deliveries)
	for i := range run.Notices {
		run.Notices[i].Sinks[0].Strategy = &delivery.Strategy{Kind: delivery.Important}
	}
	if _, err := straight.Commit(t.Context(), c, run); err != nil {
		t.Fatal(err)
	}

	line := newLine(t, direct)
	l := open(t, line.url, ledger.Options{MaxConnections: 2})
	attempts := map[int64]int{}
	for sent := 0; sent < deliveries; {
		var claims delivery.Claims
		line.until(t, func() (err error) {
			// No lease, so that a claim with a lost answer is free again.
			claims, err = l.ClaimPushes(t.Context(), "gateway", "a", 0, 10)
			return err
		})
		var ends []delivery.Settlement
		for _, d := range claims.List {
			end := delivery.Settlement{Seq: d.Seq, Token: d.Token, Kind: delivery.SettleAgain, Attempt: delivery.Attempt{Error: "no route"}}
			if d.Attempts == int(d.Seq%3) {
				end.Kind = delivery.SettleSent
				sent++
			}
			attempts[d.Seq]++
			ends = append(ends, end)
		}
		line.until(t, func() error { return l.SettlePushes(t.Context(), ends) })
	}
	t.Logf("%d calls broke", line.broken)
	if line.broken == 0 {
		t.Error("no call broke: the test shows nothing")
	}
	list, err := straight.ListDeliveries(t.Context(), ledger.DeliveryFilter{Sink: "gateway", Limit: 2 * deliveries})
	if err != nil || len(list) != deliveries {
		t.Fatalf("%d deliveries, %v", len(list), err)
	}
	for _, d := range list {
		if d.State != ledger.DeliverySent || d.Attempts != attempts[d.Seq] || d.Attempts != int(d.Seq%3)+1 {
			t.Errorf("delivery %d is %s after %d attempts of %d", d.Seq, d.State, d.Attempts, attempts[d.Seq])
		}
	}
}
