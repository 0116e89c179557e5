package origin

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/ledger"
	ledgersqlite "tallyman/internal/ledger/sqlite"
	"tallyman/internal/testenv"
	"tallyman/rules/catalog"
	"tallyman/rules/probe"
	"tallyman/scanners"
	"tallyman/scanners/sqlite"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const query = "SELECT login AS subscriber, kind AS type, wh AS warehouse FROM wms_subscribers ORDER BY login"

// warehouse is a WMS with a table of subscribers, a ledger whose clock the test moves, and keepers of two nodes.
type warehouse struct {
	t      *testing.T
	wms    string
	ledger ledger.Ledger
	micros atomic.Int64
	a, b   *Keeper
}

func newWarehouse(t *testing.T) *warehouse {
	t.Helper()
	w := &warehouse{t: t, wms: filepath.Join(t.TempDir(), "wms.db")}
	w.micros.Store(time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC).UnixMicro())
	w.exec("CREATE TABLE wms_subscribers (login TEXT, kind TEXT, wh TEXT)")
	path := filepath.Join(t.TempDir(), "ledger.db")
	if _, err := ledgersqlite.Migrate(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.ledger, err = ledgersqlite.Open(t.Context(), path, ledger.Options{Now: func() time.Time { return time.UnixMicro(w.micros.Load()) }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.ledger.Close() })
	if _, err := w.ledger.SeedTypes(t.Context(), ledger.Author{By: "node:a", Via: ledger.ViaStart}, catalog.Catalog{"REP_NOTICE": {Code: "REP_NOTICE", ID: 124719, Name: "Replenishment"}}); err != nil {
		t.Fatal(err)
	}
	w.a, w.b = w.keeper("a", query), w.keeper("b", query)
	return w
}

func (w *warehouse) keeper(node, statement string) *Keeper {
	w.t.Helper()
	source, err := sqlite.Open(sqlite.Config{URL: "sqlite:" + w.wms})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = source.Close() })
	stmt, err := Parse(statement)
	if err != nil {
		w.t.Fatal(err)
	}
	return New(Options{
		Ledger: w.ledger, Source: source, Within: time.Minute, Logger: slog.New(slog.DiscardHandler),
		Kind:     &Subscriptions{Ledger: w.ledger, Source: "wms", Author: ledger.Author{By: "node:" + node, Via: ledger.ViaSource}},
		Question: Question{Statement: stmt, Every: time.Minute},
	})
}

func (w *warehouse) exec(statements string) {
	w.t.Helper()
	db, err := sql.Open("sqlite", w.wms)
	if err == nil {
		_, err = db.ExecContext(w.t.Context(), statements)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// looks lets a minute pass, has both nodes look, and returns how the origin stands.
func (w *warehouse) looks() ledger.SubscriptionOrigin {
	w.t.Helper()
	w.micros.Add(time.Minute.Microseconds())
	for _, k := range []*Keeper{w.a, w.b, w.a} {
		if err := k.look(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
	origins, err := w.ledger.SubscriptionOrigins(w.t.Context())
	if err != nil || len(origins) != 1 {
		w.t.Fatalf("%d origins, %v", len(origins), err)
	}
	return origins[0]
}

// subscribed are the subscriptions of the ledger.
func (w *warehouse) subscribed() string {
	w.t.Helper()
	subs, err := w.ledger.Subscriptions(w.t.Context(), ledger.SubscriptionFilter{})
	if err != nil {
		w.t.Fatal(err)
	}
	var lines []string
	for _, s := range subs {
		lines = append(lines, s.Type+" "+s.Warehouse+" "+s.Subscriber+" "+s.Origin)
	}
	return strings.Join(lines, "; ")
}

// TestSubscriptionsFollowTheTable, with types by code and by id; one node asks each minute, and changes alone are recorded.
func TestSubscriptionsFollowTheTable(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	if o := w.looks(); o.Subscriptions != 0 || o.Error != "" || o.Waits != nil {
		t.Errorf("an empty table: %+v", o)
	}
	w.exec("INSERT INTO wms_subscribers VALUES ('user:ann', '124719', '119240'), ('role:keeper', 'REP_NOTICE ', '*'), ('user:ann', 'REP_NOTICE', '119240')")
	w.looks()
	const both = "REP_NOTICE * role:keeper wms; REP_NOTICE 119240 user:ann wms"
	if got := w.subscribed(); got != both {
		t.Errorf("subscribed: %s", got)
	}
	w.looks()
	w.exec("DELETE FROM wms_subscribers WHERE login = 'role:keeper'; INSERT INTO wms_subscribers VALUES ('user:bo', 'REP_NOTICE', '119240')")
	w.looks()
	if got := w.subscribed(); got != "REP_NOTICE 119240 user:ann wms; REP_NOTICE 119240 user:bo wms" {
		t.Errorf("subscribed: %s", got)
	}
	records, _, err := w.ledger.Changes(t.Context(), ledger.ChangeFilter{Limit: 10, Action: "subscription.sync"})
	if err != nil || len(records) != 2 || records[0].By != "node:a" || records[0].Via != ledger.ViaSource {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// TestWhatCannotBeTaken leaves the subscriptions as they were, with the reason.
func TestWhatCannotBeTaken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sql, change, says string }{
		{query, "INSERT INTO wms_subscribers VALUES ('user:al', 'NONE', '*')", `1 of 2 rows are not valid subscriptions: row 1: the catalogue has no type "NONE"`},
		{query, "INSERT INTO wms_subscribers VALUES ('zoe', 'REP_NOTICE', '*')", `row 2: "zoe" is no subscriber; write user:<id> or role:<id>`},
		{query, "INSERT INTO wms_subscribers VALUES ('user:zoe', 'REP_NOTICE', 'no where')", `"no where" is no warehouse`},
		{query, "INSERT INTO wms_subscribers VALUES ('user:zoe', 'REP_NOTICE', NULL)", "row 2: warehouse is NULL; write COALESCE(…, '*')"},
		{query, "INSERT INTO wms_subscribers VALUES ('user:zoe', NULL, '*')", "row 2: type is NULL"},
		{query, "INSERT INTO wms_subscribers VALUES (NULL, 'REP_NOTICE', '*')", "row 1: subscriber is NULL"},
		{query, "INSERT INTO wms_subscribers SELECT 'x', 'REP_NOTICE', '*' FROM wms_subscribers a, (SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4)", "4 of 5 rows are not valid subscriptions: row 2: "},
		{query, "ALTER TABLE wms_subscribers RENAME COLUMN login TO user_name", "no such column: login"},
		{query, "DROP TABLE wms_subscribers", "probe_invalid"},
		{"SELECT login AS subscriber, kind AS type FROM wms_subscribers", "", "the query returns the columns subscriber, type; it must return subscriber, type, warehouse"},
		{"SELECT login AS subscriber, kind AS type, wh AS warehouse, wh AS scope FROM wms_subscribers", "", "it must return"},
	} {
		w := newWarehouse(t)
		w.exec("INSERT INTO wms_subscribers VALUES ('user:bo', 'REP_NOTICE', '*')")
		w.looks()
		w.a, w.b = w.keeper("a", c.sql), w.keeper("b", c.sql)
		if c.change != "" {
			w.exec(c.change)
		}
		if o := w.looks(); !strings.Contains(o.Error, c.says) || o.FailedSince.IsZero() {
			t.Errorf("%s: %q, want %q", c.change, o.Error, c.says)
		}
		if got := w.subscribed(); got != "REP_NOTICE * user:bo wms" {
			t.Errorf("%s: subscribed: %s", c.change, got)
		}
	}
}

// TestLargeRemovalWaits until somebody confirms the list.
func TestLargeRemovalWaits(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	w.exec("INSERT INTO wms_subscribers VALUES ('user:a', 'REP_NOTICE', '*'), ('user:b', 'REP_NOTICE', '*'), ('user:c', 'REP_NOTICE', '*')")
	w.looks()
	w.exec("DELETE FROM wms_subscribers WHERE login <> 'user:a'")
	w.looks()
	o := w.looks()
	if o.Waits == nil || len(o.Waits.Removed) != 2 || o.Subscriptions != 3 || o.Error != "" {
		t.Fatalf("%+v", o)
	}
	if _, err := w.ledger.ConfirmSubscriptions(t.Context(), ledger.Author{By: "user:op", Via: ledger.ViaNone}, "wms", o.Waits.Hash); err != nil {
		t.Fatal(err)
	}
	if o := w.looks(); o.Waits != nil || w.subscribed() != "REP_NOTICE * user:a wms" {
		t.Errorf("%+v, %s", o, w.subscribed())
	}
}

// TestRefusedQueries: no node starts with these queries.
func TestRefusedQueries(t *testing.T) {
	t.Parallel()
	for statement, says := range map[string]string{
		"": "sql_empty", "DELETE FROM users": "sql_", "SELECT a FROM b WHERE c = :now": "the query has the parameter :now, but this query takes no parameters", "SELECT 1; SELECT 2": "sql_several_statements",
	} {
		if _, err := Parse(statement); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", statement, err)
		}
	}
}

// claims is a ledger that counts the claims.
type claims struct {
	ledger.OriginKeeper
	n   int
	err error
}

func (c *claims) ClaimOrigin(context.Context, ledger.OriginClaim) (token int64, claimed bool, err error) {
	c.n++
	return 0, false, c.err
}

// TestRunTriesFourTimesInEvery minute, whether the ledger answers or not.
func TestRunTriesFourTimesInEvery(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errors.New("away")} {
		synctest.Test(t, func(t *testing.T) {
			c := &claims{err: err}
			k := New(Options{Ledger: c, Kind: &Subscriptions{}, Question: Question{Every: time.Minute}, Logger: slog.New(slog.DiscardHandler)})
			ctx, stop := context.WithCancel(t.Context())
			go k.Run(ctx)
			time.Sleep(2*time.Minute + time.Second) //nolint:forbidigo // in a bubble
			stop()
			synctest.Wait()
			if c.n != 9 {
				t.Errorf("%d claims in two minutes", c.n)
			}
		})
	}
}

// stopping is a source that the node's stop interrupts.
type stopping struct {
	scanners.Source
	stop func()
}

func (s stopping) Prepare(ctx context.Context, _ *probe.Statement) (scanners.PreparedProbe, error) {
	s.stop()
	return nil, ctx.Err()
}

// TestStopIsNoFailure: a node that stops while the source is asked says nothing of the source.
func TestStopIsNoFailure(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	ctx, stop := context.WithCancel(t.Context())
	w.a.o.Source = stopping{stop: stop}
	if err := w.a.look(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	origins, err := w.ledger.SubscriptionOrigins(t.Context())
	if err != nil || origins[0].Error != "" {
		t.Errorf("%+v, %v", origins, err)
	}
}
