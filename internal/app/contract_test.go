package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// Somebody applies a contract step that removes what a running node needs. The node notices the step by itself, begins
// nothing more, and says why in each place that shows faults.
func TestANodeDrainsAfterAContractStepThatExcludesIt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.realServers()
	s.postgresWMS().exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	s.rule("every.yaml", everyScope)
	n := s.start("one")
	l := s.openLedger()
	testenv.Eventually(t, func() bool { return len(readRuns(t, l)) > 0 }, 30*time.Second)

	s.contract(t, 4710) // The step removes nothing that this program needs.
	testenv.Eventually(t, func() bool { return len(readRuns(t, l)) > 2*8 }, 30*time.Second)
	if status, body := n.do(http.MethodGet, "/readyz", "", ""); status != http.StatusOK {
		t.Fatalf("after a step of others: %d %s", status, body)
	}

	s.contract(t, 4711)
	testenv.Eventually(t, func() bool {
		var form wire.DrainForm
		n.get("/drain", &form)
		return form.State == wire.DrainDone
	}, 30*time.Second)
	done := len(readRuns(t, l))
	if status, body := n.do(http.MethodGet, "/readyz", "", ""); status != http.StatusServiceUnavailable || !strings.Contains(body, "drain: not ready") {
		t.Errorf("ready: %d %s", status, body)
	}
	if _, body := n.do(http.MethodGet, "/metrics", "", ""); !strings.Contains(body, "\ntallyman_ready 0\n") {
		t.Error("the metric tallyman_ready is not 0")
	}
	shown, health := "", n.status().Health
	for _, h := range health {
		if h.Part == "drain" && !h.OK {
			shown = h.Error
		}
	}
	if !strings.Contains(shown, "ledger_newer") || !strings.Contains(shown, "4711") {
		t.Errorf("status says %q: %+v", shown, health)
	}
	n.stop()
	if more := len(readRuns(t, l)) - done; more > 0 {
		t.Errorf("the drained node ran %d firings", more)
	}
}

// contract records a contract step of a newer version. After step 4711 the ledger is of no use to this version.
func (s *site) contract(t *testing.T, version int64) {
	t.Helper()
	oldest := map[int64]int64{4710: 100, 4711: 4710}[version]
	conn, err := pgx.Connect(t.Context(), s.cfg.Ledger.URL.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	err = pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `INSERT INTO ledger_schema (version_id, is_applied) VALUES ($1, true)`, version); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `UPDATE schema_oldest SET version = $1`, oldest)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
