package app_test

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// toldTo are the titles of the notices that a subscriber has.
func (n *node) toldTo(subscriber string) []string {
	n.t.Helper()
	status, body := n.do(http.MethodGet, "/api/v1/notices?warehouse=119240&subscriber="+url.QueryEscape(subscriber), "application/json", "")
	var page struct{ Notices []struct{ Title string } }
	if status != http.StatusOK || json.Unmarshal([]byte(body), &page) != nil {
		return nil // the index is on its way
	}
	var titles []string
	for _, notice := range page.Notices {
		titles = append(titles, notice.Title)
	}
	slices.Sort(titles)
	return titles
}

// eventually waits until the subscriber has been told that, in any order.
func (n *node) eventually(subscriber string, titles ...string) {
	n.t.Helper()
	slices.Sort(titles)
	testenv.Eventually(n.t, func() bool { return slices.Equal(n.toldTo(subscriber), titles) }, 20*time.Second)
}

// ranAgain waits until the rule has run that many times more.
func (n *node) ranAgain(times int) {
	n.t.Helper()
	last := func() (due time.Time) {
		for _, r := range n.status().Rules {
			if r.LastRun != nil {
				due = r.LastRun.Due
			}
		}
		return due
	}
	for range times {
		before := last()
		testenv.Eventually(n.t, func() bool { return last().After(before) }, 20*time.Second)
	}
}

func (n *node) why(key string) wire.WhyForm {
	n.t.Helper()
	status, body := n.do(http.MethodGet, "/api/v1/rules/negative-bin-stock/why?key="+url.QueryEscape(key), "application/json", "")
	var why wire.WhyForm
	if err := json.Unmarshal([]byte(body), &why); err != nil || status != http.StatusOK {
		n.t.Fatalf("why: %d %s (%v)", status, body, err)
	}
	return why
}

// A rule in shadow tells its own inbox alone. Promoted, it tells what is new, and nothing again.
func TestShadowAndPromotion(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wms := s.sqliteWMS()
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3), (119240, 'A-02', 'S1', -3)`)
	s.rule("stock.yaml", strings.Replace(stockRule, "    source: wms", "    source: wms\n    shadow: true", 1))
	n := s.start("one")
	const shadow = "shadow:negative-bin-stock"
	first := []string{"Bin A-01 is at -3", "Bin A-02 is at -3"}
	n.eventually(shadow, first...)
	if got := n.toldTo("role:keeper"); len(got) != 0 {
		t.Fatalf("the subscribers were told %v", got)
	}
	if why := n.why("119240,A-01,S1"); why.State != "firing" || len(why.Held) == 0 || why.Held[0].Code != "shadow" {
		t.Errorf("why: %+v", why)
	}

	status, body := n.do(http.MethodPost, "/api/v1/rules/negative-bin-stock/promote", "application/json", "")
	if status != http.StatusOK || !strings.Contains(body, `"by":"anonymous"`) {
		t.Fatalf("promote: %d %s", status, body)
	}
	if r := n.status().Rules[0]; !r.Shadow || r.Promoted == nil {
		t.Errorf("status: %+v", r)
	}
	n.ranAgain(2)
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-03', 'S1', -3)`)
	n.eventually("role:keeper", "Bin A-03 is at -3")
	wms.exec(`DELETE FROM bin_stock`)
	n.eventually("role:keeper", "Bin A-03 is at -3", "Resolved: Bin A-03 is at -3")
	n.eventually(shadow, append(first, "Resolved: Bin A-01 is at -3", "Resolved: Bin A-02 is at -3")...)

	n.stop() // a promotion outlives the node
	n = s.start("one")
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-04', 'S1', -3)`)
	n.eventually("role:keeper", "Bin A-03 is at -3", "Resolved: Bin A-03 is at -3", "Bin A-04 is at -3")
	var why wire.WhyForm
	testenv.Eventually(t, func() bool { // clients see it a moment before the ledger knows that it was sent
		why = n.why(`[119240,"A-04","S1"]`)
		return len(why.Told) == 1 && len(why.Told[0].Deliveries) == 1 && why.Told[0].Deliveries[0].State == "sent"
	}, 20*time.Second)
	if to := why.Told[0].Deliveries[0].Recipients; !slices.Equal(to, []string{"role:keeper"}) {
		t.Errorf("why: told %v", to)
	}
	if why.Look == nil || !why.Look.Match || len(why.Finding.Row) != 4 {
		t.Errorf("why: %+v, %+v", why.Look, why.Finding)
	}
}

// The plan of a probe is asked for on the real PostgreSQL: one that loses its index costs more, and has another shape.
func TestMaxCostOnPostgres(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wms := s.postgresWMS()
	wms.exec(`INSERT INTO bin_stock SELECT 119240, 'B-' || i, 'S1', i FROM generate_series(1, 20000) AS i`)
	wms.exec(`CREATE INDEX by_qty ON bin_stock (qty)`)
	wms.exec(`ANALYZE bin_stock`)
	s.rule("stock.yaml", strings.Replace(stockRule, "      params:", "      max_cost: 100\n      params:", 1))
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	n := s.start("one")
	n.eventually("role:keeper", "Bin A-01 is at -3")
	n.stop()

	wms.exec(`DROP INDEX by_qty`)
	n = s.start("two") // asked within the day: what is recorded counts
	n.ranAgain(1)
	n.stop()
	s.forgetPlan()
	n = s.start("three")
	testenv.Eventually(t, func() bool {
		r := n.status().Rules[0]
		return !r.Verified && strings.HasPrefix(r.Reason, "probe_cost: ") && strings.Contains(r.Reason, "Seq Scan")
	}, 20*time.Second)
	r := n.status().Rules[0]
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "by_qty") || !strings.Contains(r.Warnings[0], "Seq Scan") {
		t.Errorf("warnings: %q", r.Warnings)
	}
	if why := n.why("119240,A-01,S1"); why.Look == nil || why.Look.Answered || !strings.Contains(why.Look.Reason, "probe_cost") {
		t.Errorf("a probe that is too dear was run: %+v", why.Look)
	}
}

// forgetPlan makes what is recorded of the plan older than a day.
func (s *site) forgetPlan() {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+s.cfg.Ledger.Path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(s.t.Context(), "UPDATE probe_plans SET asked_at = asked_at - 86400000000"); err != nil {
		s.t.Fatal(err)
	}
}
