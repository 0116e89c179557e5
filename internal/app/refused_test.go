package app_test

import (
	"database/sql"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// refusing makes a PostgreSQL the site's ledger, and returns what changes its tables.
func (s *site) refusing() (change func(string)) {
	s.t.Helper()
	s.realServers()
	db, err := sql.Open("pgx", s.cfg.Ledger.URL.Reveal())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = db.Close() })
	return func(statements string) {
		s.t.Helper()
		if _, err := db.ExecContext(s.t.Context(), statements); err != nil {
			s.t.Fatal(err)
		}
	}
}

// commits is the health of the node's commits.
func (n *node) commits() wire.Health {
	n.t.Helper()
	for _, h := range n.status().Health {
		if h.Part == "commits" {
			return h
		}
	}
	n.t.Fatal("/status does not have the part commits")
	return wire.Health{}
}

// A full disk of the ledger makes the node unready, but clients still get their notices. With free space the node
// becomes ready by itself.
func TestLedgerThatTakesNoCommit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	change := s.refusing()
	wms := s.sqliteWMS()
	s.rule("stock.yaml", stockRule)
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	n := s.start("one")
	n.await(nil, 1)
	if h := n.commits(); !h.OK {
		t.Fatalf("before: %+v", h)
	}
	change(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN RAISE EXCEPTION 'could not extend file "base/16384/2619": No space left on device' USING ERRCODE = 'disk_full'; END $$;
		CREATE TRIGGER full_disk BEFORE INSERT ON firings EXECUTE FUNCTION full_disk()`)
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-02', 'S2', -1)`)
	testenv.Eventually(t, func() bool { return n.isUnready() }, 30*time.Second)
	for range 20 { // it stays so, while claims and the node's presence are written
		if !n.isUnready() {
			t.Fatal("the node flaps")
		}
		if code, page := n.poll(nil); code != http.StatusOK || len(page.Notices) != 1 {
			t.Fatalf("a poll answers %d, %d notices", code, len(page.Notices))
		}
		<-time.After(300 * time.Millisecond)
	}
	h := n.commits()
	for _, want := range []string{"nothing can be committed since ", "; runs: ", "the last commit was at ", "the disk of the ledger is full", "SQLSTATE 53100", "No space left"} {
		if h.OK || !strings.Contains(h.Error, want) {
			t.Errorf("the health of commits does not say %q: %+v", want, h)
		}
	}
	_, metrics := n.do(http.MethodGet, "/metrics", "text/plain", "")
	for _, want := range []string{"\ntallyman_ready 0\n", "\ntallyman_commits_blocked 1\n", `tallyman_commits_refused_total{reason="disk_full"} `} {
		if !strings.Contains(metrics, want) || strings.Contains(metrics, `tallyman_commits_refused_total{reason="disk_full"} 0`) {
			t.Errorf("the metrics do not have %q", want)
		}
	}
	change(`DROP TRIGGER full_disk ON firings`)
	n.await(nil, 2)
	testenv.Eventually(t, func() bool {
		code, body := n.do(http.MethodGet, "/readyz", "application/json", "")
		return code == http.StatusOK && strings.Contains(body, `"unwell":["commits"`)
	}, 30*time.Second)
}

// isUnready tells whether the node says that it can commit nothing. Anybody may ask, so the answer does not say why.
func (n *node) isUnready() bool {
	n.t.Helper()
	code, body := n.do(http.MethodGet, "/readyz", "application/json", "")
	if strings.Contains(body, "53100") || strings.Contains(body, "device") {
		n.t.Errorf("/readyz says too much: %s", body)
	}
	return code == http.StatusServiceUnavailable && strings.Contains(body, `"commits: not ready`)
}

// A rule whose record the ledger refuses is reported. The node stays ready, because other rules commit.
func TestRuleWhoseRecordIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	change := s.refusing()
	wms := s.sqliteWMS()
	s.rule("stock.yaml", stockRule)
	s.rule("other.yaml", strings.Replace(stockRule, "negative-bin-stock", "unwanted", 1))
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	n := s.start("one")
	n.await(nil, 2)
	change(`ALTER TABLE firings ADD CONSTRAINT no_unwanted CHECK (rule <> 'unwanted') NOT VALID`)
	testenv.Eventually(t, func() bool { return !n.commits().OK }, 20*time.Second)
	if h := n.commits(); !strings.HasPrefix(h.Error, "runs: ") || !strings.Contains(h.Error, "SQLSTATE 23514: table firings, constraint no_unwanted") {
		t.Errorf("the health of commits: %+v", h)
	}
	for range 45 { // longer than two tries
		if code, body := n.do(http.MethodGet, "/readyz", "application/json", ""); code != http.StatusOK {
			t.Fatalf("one rule makes the node unready: %s", body)
		}
		<-time.After(300 * time.Millisecond)
	}
	_, metrics := n.do(http.MethodGet, "/metrics", "text/plain", "")
	if !strings.Contains(metrics, "\ntallyman_commits_blocked 0\n") || strings.Contains(metrics, `tallyman_commits_refused_total{reason="constraint"} 0`) {
		t.Error("the metrics do not tell of the refusals, or say that nothing is committed")
	}
}
