package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/goleak"

	"tallyman/internal/api/metrics"
	"tallyman/internal/ledger"
	"tallyman/internal/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newMetrics(t *testing.T) *metrics.Metrics {
	t.Helper()
	m, err := metrics.New("1.2.3", "go1.26")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// scrape returns our own series as Prometheus reads them, without the buckets.
func scrape(m *metrics.Metrics) []string {
	rec := httptest.NewRecorder()
	promhttp.HandlerFor(m.Gatherer(), promhttp.HandlerOpts{}).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	lines := strings.Split(rec.Body.String(), "\n")
	return slices.DeleteFunc(lines, func(line string) bool {
		return !strings.HasPrefix(line, "tallyman_") || strings.Contains(line, "_bucket{")
	})
}

func TestNamesAndValues(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	m.RunDone(ledger.Run{Rule: "negative-bin-stock", Outcome: ledger.OutcomeOK, Rows: 10, Matched: 3, Errored: 2, Duration: 20 * time.Millisecond})
	m.RunDone(ledger.Run{Rule: "negative-bin-stock", Outcome: ledger.OutcomeSkipped, Duration: time.Hour})
	m.NoticeMade("REP_NOTICE", "firing")
	m.DeliveryDone("inbox", "sent", 500)
	m.FiringLag(30 * time.Millisecond)
	m.PollDone("not_modified", time.Millisecond)
	m.CommitRefused(ledger.RefusedDiskFull)
	m.SessionEvent(session.Buried)
	want := []string{
		`tallyman_build_info{go="go1.26",version="1.2.3"} 1`,
		`tallyman_commits_refused_total{reason="conflict"} 0`,
		`tallyman_commits_refused_total{reason="constraint"} 0`,
		`tallyman_commits_refused_total{reason="damaged"} 0`,
		`tallyman_commits_refused_total{reason="disk_full"} 1`,
		`tallyman_commits_refused_total{reason="other"} 0`,
		`tallyman_commits_refused_total{reason="privilege"} 0`,
		`tallyman_commits_refused_total{reason="read_only"} 0`,
		`tallyman_commits_refused_total{reason="resources"} 0`,
		`tallyman_commits_refused_total{reason="schema"} 0`,
		`tallyman_commits_refused_total{reason="timeout"} 0`,
		`tallyman_commits_refused_total{reason="value"} 0`,
		`tallyman_deliveries_total{outcome="sent",sink="inbox"} 500`,
		`tallyman_firing_lag_seconds_sum 0.03`,
		`tallyman_firing_lag_seconds_count 1`,
		`tallyman_notices_total{status="firing",type="REP_NOTICE"} 1`,
		`tallyman_poll_duration_seconds_sum 0.001`,
		`tallyman_poll_duration_seconds_count 1`,
		`tallyman_polls_total{outcome="not_modified"} 1`,
		`tallyman_rows_total{outcome="errored",rule="negative-bin-stock"} 2`,
		`tallyman_rows_total{outcome="matched",rule="negative-bin-stock"} 3`,
		`tallyman_rows_total{outcome="unmatched",rule="negative-bin-stock"} 5`,
		`tallyman_rule_problems 0`,
		`tallyman_rule_reload_timestamp_seconds 0`,
		`tallyman_rule_reloads_total{outcome="failed"} 0`,
		`tallyman_rule_reloads_total{outcome="ok"} 0`,
		`tallyman_rule_reloads_total{outcome="problems"} 0`,
		`tallyman_run_duration_seconds_sum 0.02`,
		`tallyman_run_duration_seconds_count 1`,
		`tallyman_run_seconds_total{rule="negative-bin-stock"} 0.02`,
		`tallyman_runs_total{outcome="ok",rule="negative-bin-stock"} 1`,
		`tallyman_runs_total{outcome="skipped",rule="negative-bin-stock"} 1`,
		`tallyman_samples_failed_total 0`,
		`tallyman_session_events_total{event="buried"} 1`,
		`tallyman_session_events_total{event="lapsed"} 0`,
		`tallyman_session_events_total{event="lost"} 0`,
		`tallyman_streams 0`,
	}
	if got := scrape(m); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	for i := range 3000 {
		m.RunDone(ledger.Run{Rule: fmt.Sprintf("rule-%d", i), Outcome: ledger.OutcomeOK})
	}
	m.RunDone(ledger.Run{Rule: "rule-0", Outcome: ledger.OutcomeOK})
	var series, first int
	for _, line := range scrape(m) {
		if strings.HasPrefix(line, "tallyman_runs_total{") {
			series++
		}
		if line == `tallyman_runs_total{outcome="ok",rule="rule-0"} 2` {
			first++
		}
	}
	if series != 2001 || first != 1 {
		t.Errorf("%d series, rule-0 %d times", series, first)
	}
}
