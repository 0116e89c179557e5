package app_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// A ledger that is killed and restarted stops the runs for as long, and nothing else: polls are answered, the node says that
// it is not ready, and afterwards what happened meanwhile is told once.
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
