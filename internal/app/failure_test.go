package app_test

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
	"tallyman/sinks/recovery"
)

// A broken rule file takes itself out and nothing else.
func TestBrokenRuleFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wms := s.sqliteWMS()
	s.rule("stock.yaml", stockRule)
	s.rule("broken.yaml", "version: 1\nrules:\n  - id: typo\n    schedul: {cron: \"@every 1s\"}\n")
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	n := s.start("one")
	n.await(nil, 1)
	var told bool
	for _, p := range n.status().Problems {
		told = told || p.Code == "unknown_field" && p.Line == 4 && strings.HasSuffix(p.File, "broken.yaml") && strings.Contains(p.Hint, "schedule")
	}
	if !told {
		t.Fatalf("/status does not tell the fault: %+v", n.status().Problems)
	}
}

// A source that is out of reach makes its own rules unverified; they run once it is there.
func TestUnreachableSource(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wms := s.sqliteWMS()
	down := testenv.PostgresServer(t)
	s.cfg.Sources["erp"] = config.Source{Driver: config.Postgres, URL: config.NewSecret(down.Database()), MaxConnections: 1, StatementTimeout: 2 * time.Second}
	s.rule("stock.yaml", stockRule)
	s.rule("erp.yaml", `
version: 1
rules:
  - id: erp-alive
    schedule: {cron: "@every 1s"}
    source: erp
    probe: {sql: "SELECT 119240 AS wh_id, 'E-01' AS bin"}
    key: [wh_id, bin]
    notice: {type: REP_NOTICE, warehouse: wh_id, title: "ERP", body: "is there"}
    deliver: [{sink: inbox}]
`)
	down.Kill()
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	n := s.start("one")
	n.await(nil, 1) // nothing else suffers
	if r := n.rule("erp-alive"); r.Verified || !strings.Contains(r.Reason, "source_unreachable") {
		t.Fatalf("the rule of the dead source is %+v", r)
	}
	if code, body := n.do(http.MethodGet, "/readyz", "*/*", ""); code != http.StatusOK {
		t.Errorf("a dead source makes the node unready: %d %s", code, body)
	}
	for _, h := range n.status().Health {
		if h.OK == (h.Part == "source" && h.Name == "erp") {
			t.Errorf("health of %s %s: %+v", h.Part, h.Name, h)
		}
	}
	down.Restart()
	n.await(nil, 2)
	if r := n.rule("erp-alive"); !r.Verified || r.Reason != "" {
		t.Fatalf("the rule of the source that is back is %+v", r)
	}
}

// A Redis that would throw notices away when its memory is full is refused at the start.
func TestEvictingRedisIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := s.realServers()
	if err := server.Client(t).ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), s.cfg, app.Options{Node: "one", Migrate: true})
	if !errors.Is(err, recovery.ErrEvicts) || !strings.Contains(err.Error(), "noeviction") {
		t.Fatalf("started as %v with %v", a, err)
	}
}

// Without Redis runs go on and deliveries wait; /readyz says so; when it is back everything arrives.
func TestUnreachableRedis(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := s.realServers()
	wms := s.postgresWMS()
	s.rule("stock.yaml", stockRule)
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	n := s.start("one")
	n.await(nil, 1)

	server.Kill()
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-02', 'S2', -1)`)
	testenv.Eventually(t, func() bool { r := n.rule("negative-bin-stock"); return r.Firing == 2 }, 20*time.Second)
	testenv.Eventually(t, func() bool {
		code, body := n.do(http.MethodGet, "/readyz", "*/*", "")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "inbox")
	}, 20*time.Second)
	if code, _ := n.poll(nil); code != http.StatusServiceUnavailable {
		t.Errorf("a poll without Redis answers %d", code)
	}

	server.Restart()
	n.await(nil, 2)
	testenv.Eventually(t, func() bool { code, _ := n.do(http.MethodGet, "/readyz", "*/*", ""); return code == http.StatusOK }, 10*time.Second)
}

// A full Redis takes no notices and still answers polls. The node stays ready: /readyz and the status name the inbox.
func TestFullRedis(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	s := newSite(t)
	redis := s.realServers().Client(t)
	wms := s.postgresWMS()
	s.rule("stock.yaml", stockRule)
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	n := s.start("one")
	n.await(nil, 1)

	if err := redis.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-02', 'S2', -1)`)
	testenv.Eventually(t, func() bool {
		code, body := n.do(http.MethodGet, "/readyz", "*/*", "")
		return code == http.StatusOK && strings.Contains(body, `"unwell":["redis inbox"]`)
	}, 20*time.Second)
	if !slices.ContainsFunc(n.status().Health, func(h wire.Health) bool {
		return h.Part == "redis" && h.Name == "inbox" && strings.Contains(h.Error, "OOM command not allowed")
	}) {
		t.Errorf("the status does not say why: %+v", n.status().Health)
	}
	if code, _ := n.poll(nil); code != http.StatusOK {
		t.Errorf("a poll of a full Redis answers %d", code)
	}

	if err := redis.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	n.await(nil, 2)
}

// A ledger that is killed and restarted stops the runs for as long, and nothing else: polls are answered, the node says
// that it is not ready, and afterwards what happened meanwhile is told once.
func TestLedgerIsRestarted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.realServers()
	server := testenv.PostgresServer(t)
	s.cfg.Ledger = config.Ledger{Driver: config.Postgres, URL: config.NewSecret(server.Database()), Retention: 24 * time.Hour}
	wms := s.postgresWMS()
	s.rule("stock.yaml", stockRule)
	wms.exec(`INSERT INTO bin_stock SELECT 119240, 'A-' || i, 'S1', -1 FROM generate_series(1, 5) i`)
	n := s.start("one")
	cursor := n.await(nil, 5).Cursor

	for round, loss := range []func(){server.Kill, server.Stop} {
		loss()
		wms.exec(`UPDATE bin_stock SET qty = -qty WHERE bin_code IN ('A-1', 'A-2')`)
		testenv.Eventually(t, func() bool {
			code, body := n.do(http.MethodGet, "/readyz", "*/*", "")
			return code == http.StatusServiceUnavailable && strings.Contains(body, "ledger")
		}, 20*time.Second)
		if code, p := n.poll(url.Values{"after": {cursor}}); code != http.StatusOK || p.Reset || len(p.Notices) != 0 {
			t.Fatalf("without a ledger a poll answers %d, %+v", code, p)
		}
		server.Restart()
		got := n.await(url.Values{"after": {cursor}}, 2)
		want := []string{"resolved", "firing"}[round]
		if got.Reset || got.Notices[0].Status != want || got.Notices[1].Status != want {
			t.Fatalf("after restart %d: %+v", round, got)
		}
		cursor = got.Cursor
		testenv.Eventually(t, func() bool { code, _ := n.do(http.MethodGet, "/readyz", "*/*", ""); return code == http.StatusOK }, 10*time.Second)
	}
	all := n.await(nil, 9)
	n.stop()
	l := s.openLedger()
	recorded, err := l.Delivered(t.Context(), ledger.Lane{Sink: "inbox", Warehouse: "119240"}, 0, 100)
	if err != nil || len(recorded) != len(all.Notices) {
		t.Fatalf("the ledger recorded %d of %d notices: %v", len(recorded), len(all.Notices), err)
	}
	for i, d := range recorded {
		if d.Notice.ID != all.Notices[i].ID {
			t.Errorf("notice %d is %s, the ledger has %s", i, all.Notices[i].ID, d.Notice.ID)
		}
	}
	if counts, err := l.CountDeliveries(t.Context()); err != nil || counts["inbox"][ledger.DeliveryPending] != 0 {
		t.Errorf("deliveries are %v: %v", counts, err)
	}
}
