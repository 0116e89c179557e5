package bench

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// BenchmarkFirings lets a node run scopes of rules that find nothing new, and measures for SCALE_TIME after the node
// has settled. The node is a process. The ledger and the WMS are databases of one PostgreSQL with fsync on, on the same
// machine.
func BenchmarkFirings(b *testing.B) {
	span, err := time.ParseDuration(os.Getenv("SCALE_TIME"))
	if err != nil {
		b.Skip("it takes long: make bench-scale")
	}
	for _, load := range []firingLoad{
		{rules: 10_000, scopes: 1, every: time.Minute},
		{rules: 10, scopes: 1_000, every: 4 * time.Second},
		{rules: 1, scopes: 100_000, every: time.Minute, jitter: 59 * time.Second},
		{rules: 1, scopes: 400, every: time.Minute},
		{rules: 1, scopes: 400, every: time.Minute, split: true},
		{rules: 1, scopes: 30_000, every: 2 * time.Minute, open: 100},
	} {
		b.Run(fmt.Sprintf("rules=%d/scopes=%d/every=%s/split=%t/open=%d", load.rules, load.scopes, load.every, load.split, load.open*load.scopes), func(b *testing.B) {
			for b.Loop() {
				load.measure(b, span)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
	b.Run("vmalert/rules=10000/every=1m0s", func(b *testing.B) {
		for b.Loop() {
			measureVmalert(b, span)
		}
		b.ReportMetric(0, "ns/op")
	})
}

// firingLoad is a number of rules with a number of scopes each, and the interval of their due times.
type firingLoad struct {
	rules, scopes int
	every         time.Duration
	jitter        time.Duration // 0 = the default, a tenth of every
	split         bool          // one scan serves all scopes of a rule
	open          int           // findings of each scope, which stay as they are
}

const (
	lag         = "tallyman_firing_lag_seconds"
	startWithin = 10 * time.Minute
	settleTime  = 30 * time.Second // after the first run of each scope, for its load and its garbage
)

func (l firingLoad) measure(b *testing.B, span time.Duration) {
	b.Helper()
	s := newServers(b)
	wms := s.database("wms")
	execute(b, wms, fmt.Sprintf(`CREATE TABLE bin_stock (wh_id integer, bin_code text, qty integer);
		INSERT INTO bin_stock SELECT w, 'B-' || n, n FROM generate_series(1, 1000) w, generate_series(1, 20) n;
		INSERT INTO bin_stock SELECT w, 'C-' || n, -n FROM generate_series(1, %d) w, generate_series(1, %d) n;
		CREATE INDEX ON bin_stock (wh_id); ANALYZE bin_stock`, l.scopes, l.open))
	ledgerURL := s.postgres.Database()
	program, dir := nodeProgram(b), l.configure(b, s, wms, ledgerURL)
	migrate(b, program, dir)
	n := startNode(b, program, dir, "node")
	total := l.rules * l.scopes
	n.awaitVerified(total)
	if l.open > 0 {
		n.awaitFirings(total)
		b.ReportMetric(askNumber(b, ledgerURL, "SELECT count(*) FROM findings"), "findings")
		b.ReportMetric(n.memory()/1024/1024, "MiB-node-first-run")
		n.end(syscall.SIGKILL)
		n = startNode(b, program, dir, "restarted")
		n.awaitVerified(total)
	}
	verified := time.Since(n.started)
	n.awaitFirings(total)
	b.ReportMetric(time.Since(n.started).Seconds(), "s-until-all-ran")
	<-time.After(settleTime)

	before, nodeCPU, postgresCPU, done := n.scrape(), n.cpu(), s.postgresCPU(), transactions(b, ledgerURL)
	asked := queries(b, wms)
	from := time.Now()
	<-time.After(span)
	after, took := n.scrape(), time.Since(from).Seconds()
	firings := after.firings() - before.firings()
	b.ReportMetric(verified.Seconds(), "s-until-verified")
	b.ReportMetric(firings/took, "firings/s")
	b.ReportMetric((transactions(b, ledgerURL)-done)/firings, "transactions/firing")
	b.ReportMetric((queries(b, wms)-asked)/took*60, "WMS-queries/min")
	b.ReportMetric(float64(total)/l.every.Seconds(), "due/s")
	b.ReportMetric(after.quantile(before, lag, .5)*1000, "ms-late-p50")
	b.ReportMetric(after.quantile(before, lag, .99)*1000, "ms-late-p99")
	b.ReportMetric((n.cpu()-nodeCPU)/took, "cores-node")
	b.ReportMetric((s.postgresCPU()-postgresCPU)/took, "cores-postgres")
	b.ReportMetric(n.memory()/float64(total)/1024, "KiB/scope")
	b.ReportMetric(n.memory()/1024/1024, "MiB-node")
	if failed := after.sum("tallyman_runs_total", "failed"); failed > 0 {
		b.Errorf("%.0f runs failed", failed)
	}
}

// fileRules is the number of rules in a file. A file may have a megabyte at most.
const fileRules = 1_000

// configure writes the files of a node and returns their folder.
func (l firingLoad) configure(t testing.TB, s *servers, wms, ledgerURL string) string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for file := range (l.rules + fileRules - 1) / fileRules {
		paths = append(paths, fmt.Sprintf("rules-%d.yaml", file))
	}
	write(t, dir, "tallyman.yaml", fmt.Sprintf(`http: {listen: "127.0.0.1:0"}
auth: {mode: none}
redis: {url: "redis://%s/0"}
ledger: {url: "%s"}
rules: {paths: [%s]}
types: {path: types.yaml}
sources:
  wms: {driver: postgres, url: "%s"}
sinks:
  inbox: {type: inbox}
`, s.redis.Addr, ledgerURL, strings.Join(paths, ", "), wms))
	writeTypes(t, dir)
	var b strings.Builder
	for r := range l.rules {
		if b.Len() == 0 {
			b.WriteString("version: 1\ndefaults: {source: wms, owner: bench}\nrules:\n")
		}
		fmt.Fprintf(&b, `  - id: rule-%d
    title: Negative bin stock
    description: A bin that holds fewer than no pieces.
    schedule: {cron: "@every %s"%s}
%s    first_run: baseline
    when: qty < 0
    key: [wh_id, bin_code]
    notice: {type: REP_NOTICE, warehouse: wh_id, priority: 4, title: "Bin {{ .bin_code }} is at {{ .qty }}", body: "{{ .bin_code }} is at {{ .qty }}.", fields: {bin: bin_code}}
    deliver: [{sink: inbox}]
`, r, l.every, l.spread(), l.probe(r))
		if l.scopes > 1 {
			fmt.Fprintf(&b, `    scopes:
      source: wms
      every: 1h
      sql: SELECT 'w' || n AS name%s FROM generate_series(1, %d) AS n
`, l.params(), l.scopes)
		}
		if (r+1)%fileRules == 0 || r+1 == l.rules {
			write(t, dir, fmt.Sprintf("rules-%d.yaml", r/fileRules), b.String())
			b.Reset()
		}
	}
	return dir
}

// spread returns the jitter in the form of a rule file.
func (l firingLoad) spread() string {
	if l.jitter == 0 {
		return ""
	}
	return ", jitter: " + l.jitter.String()
}

// probe returns the probe of a rule. The probe reads one warehouse, or all warehouses if one scan serves all scopes.
func (l firingLoad) probe(rule int) string {
	if l.split {
		return `    split_by: scope
    probe:
      sql: SELECT 'w' || wh_id AS scope, wh_id, bin_code, qty FROM bin_stock WHERE qty < 0
`
	}
	return fmt.Sprintf(`    probe:
      sql: SELECT wh_id, bin_code, qty FROM bin_stock WHERE wh_id = :wh AND qty < 0
      params: {wh: %d}
`, rule%1000+1)
}

// params returns the columns of the scopes query that are parameters of the probe.
func (l firingLoad) params() string {
	if l.split {
		return ""
	}
	if l.open > 0 {
		return ", n AS wh"
	}
	return ", n % 1000 + 1 AS wh"
}

// awaitVerified waits until the node has that number of scopes of rules, all verified.
func (n *nodeProcess) awaitVerified(scopes int) {
	n.t.Helper()
	n.await("verified", scopes, func(now series) int {
		if now.sum("tallyman_rules", "") != float64(scopes) {
			return 0
		}
		return scopes - int(now.sum("tallyman_rules", "unverified"))
	})
}

// awaitFirings waits until the node has run that number of firings.
func (n *nodeProcess) awaitFirings(firings int) {
	n.t.Helper()
	n.await("run", firings, func(now series) int { return int(now.firings()) })
}

func (n *nodeProcess) await(what string, wanted int, count func(series) int) {
	n.t.Helper()
	for began := time.Now(); ; <-time.After(time.Second) {
		got := 0
		if now, ready := n.scrapeReady(); ready {
			got = count(now)
		}
		if got >= wanted {
			return
		}
		if time.Since(began) > startWithin {
			n.t.Fatalf("%d of %d are %s after %s", got, wanted, what, startWithin)
		}
	}
}

// scrape reads the metrics, by name.
func (n *nodeProcess) scrape() series {
	n.t.Helper()
	now, ready := n.scrapeReady()
	if !ready {
		n.t.Fatal("the node is not ready")
	}
	return now
}

// scrapeReady returns false where the node does not serve metrics yet.
func (n *nodeProcess) scrapeReady() (series, bool) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, n.base+"/metrics", nil)
	if err != nil {
		n.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode == http.StatusServiceUnavailable {
		return nil, false
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		n.t.Fatalf("%d: %v", answer.StatusCode, err)
	}
	return all, true
}

// series are metrics by name.
type series map[string]*dto.MetricFamily

// sum adds up the counters, gauges and untyped numbers with the name. A metric counts only if one of its labels has the
// value; "" = every metric counts.
func (s series) sum(name, value string) (total float64) {
	for _, m := range s[name].GetMetric() {
		if value == "" || slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == value }) {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
		}
	}
	return total
}

// firings returns the number of firings that have run. A skipped firing has not run.
func (s series) firings() float64 {
	return s.sum("tallyman_runs_total", "") - s.sum("tallyman_runs_total", "skipped")
}

// quantile returns the quantile q of the values that a histogram without labels has counted since before. Between the
// bounds of a bucket it interpolates, as Prometheus does.
func (s series) quantile(before series, name string, q float64) float64 {
	buckets := func(of series) []*dto.Bucket {
		if list := of[name].GetMetric(); len(list) == 1 {
			return list[0].GetHistogram().GetBucket()
		}
		return nil
	}
	counts := buckets(s)
	old := map[float64]uint64{}
	for _, b := range buckets(before) {
		old[b.GetUpperBound()] = b.GetCumulativeCount()
	}
	if len(counts) == 0 {
		return 0
	}
	since := func(b *dto.Bucket) float64 { return float64(b.GetCumulativeCount() - old[b.GetUpperBound()]) }
	rank := q * since(counts[len(counts)-1])
	low, below := 0.0, 0.0
	for _, b := range counts {
		if n := since(b); n >= rank && n > below {
			if math.IsInf(b.GetUpperBound(), 1) {
				return low
			}
			return low + (b.GetUpperBound()-low)*(rank-below)/(n-below)
		}
		low, below = b.GetUpperBound(), since(b)
	}
	return low
}

// transactions returns how many transactions a database has ended.
func transactions(t testing.TB, url string) float64 {
	t.Helper()
	return askNumber(t, url, "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()")
}

// queries returns how often probes have read the table.
func queries(t testing.TB, wms string) float64 {
	t.Helper()
	return askNumber(t, wms, "SELECT seq_scan + idx_scan FROM pg_stat_user_tables WHERE relname = 'bin_stock'")
}

func askNumber(t testing.TB, url, query string) (n float64) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	if err := c.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
