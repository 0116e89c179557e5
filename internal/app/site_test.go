package app_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// site is a folder with a configuration, and the means to change it.
type site struct {
	t   testing.TB
	dir string
	cfg *config.Config

	step  func(string)  // see app.Options.Step
	grace time.Duration // see app.Options.StopGrace

	migrated bool             // the schema is up to date, and the node's role may not change it
	stdout   io.Writer        // see app.Options.Stdout
	hangup   <-chan os.Signal // see app.Options.Hangup
}

const types = `
types:
  - {code: REP_NOTICE, id: 124719, name: Replenishment notice, retention: 72h,
     fields: {bin: {type: string, required: true}, sku: {type: string}, qty: {type: decimal}}}
`

// stockRule looks every second for bins below zero.
const stockRule = `
version: 1
rules:
  - id: negative-bin-stock
    schedule: {cron: "@every 1s"}
    source: wms
    labels: {area: replenishment}
    probe:
      sql: SELECT wh_id, bin_code, sku, qty FROM bin_stock WHERE qty < :threshold
      params: {threshold: 0}
    when: qty < 0
    key: [wh_id, bin_code, sku]
    notice:
      type: REP_NOTICE
      warehouse: wh_id
      modal: popup
      title: "Bin {{ .bin_code }} is at {{ .qty }}"
      body: "{{ .sku }} in {{ .bin_code }} went to {{ .qty }}."
      fields: {bin: bin_code, sku: sku, qty: qty}
      send_resolved: true
    deliver: [{sink: inbox}]
`

// newSite is a site on the embedded default, without rules or sources.
func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir()}
	c := app.DefaultConfig()
	c.HTTP.Listen = "127.0.0.1:0"
	c.Ledger.Driver, c.Ledger.Path = config.SQLite, filepath.Join(s.dir, "ledger.db")
	c.Rules.Paths = []string{filepath.Join(s.dir, "rules")}
	c.Types.Path = filepath.Join(s.dir, "types.yaml")
	c.Sources = map[string]config.Source{}
	c.Subscriptions.Seed = []config.Subscription{{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "role:keeper"}}
	s.cfg = &c
	s.write("types.yaml", types)
	if err := os.Mkdir(c.Rules.Paths[0], 0o750); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// rule puts a rule file into the site.
func (s *site) rule(name, text string) { s.write(filepath.Join("rules", name), text) }

// realServers moves ledger and index to PostgreSQL and Redis.
func (s *site) realServers() *testenv.RedisServer {
	s.t.Helper()
	s.cfg.Ledger = config.Ledger{Driver: config.Postgres, URL: config.NewSecret(testenv.Postgres(s.t)), Retention: 24 * time.Hour}
	server := testenv.Redis(s.t)
	s.cfg.Redis = config.Redis{URL: config.RedisURL{URLs: []config.Secret{config.NewSecret(server.URL())}}, Prefix: "tallyman:"}
	return server
}

// node is a running App and a client of its API.
type node struct {
	t    testing.TB
	base string
	stop func()
}

// start runs a node of the site until the test ends or stop is called.
func (s *site) start(name string) *node {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	a, err := app.New(ctx, s.cfg, app.Options{
		Node: name, Migrate: !s.migrated, Logger: slog.New(slog.NewTextHandler(s.t.Output(), nil)), Step: s.step, StopGrace: s.grace, Stdout: s.stdout, Hangup: s.hangup,
	})
	if err != nil {
		cancel()
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	stopped := false
	n := &node{t: s.t, base: "http://" + a.Addr(), stop: func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("node %s: %v", name, err)
		}
		if err := a.Close(); err != nil {
			s.t.Errorf("close node %s: %v", name, err)
		}
		http.DefaultClient.CloseIdleConnections()
	}}
	s.t.Cleanup(n.stop)
	return n
}

// do sends a request and returns status and body; headers are name, value, …
func (n *node) do(method, path, accept, body string, headers ...string) (int, string) {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), method, n.base+path, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	req.Header.Set("Accept", accept)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

type noticeJSON struct {
	ID, Type, Warehouse, Rule, Key, Status, Modal, Title, Body string
	TypeID                                                     int64
	Priority                                                   int
	Data                                                       map[string]any
	Labels                                                     map[string]string
}

type pageJSON struct {
	Notices     []noticeJSON
	Cursor      string
	Unread      int
	More, Reset bool
	ResetReason string
	Missed      *int
}

// poll asks for the keeper's notices in warehouse 119240; query adds to it.
func (n *node) poll(query url.Values) (int, pageJSON) {
	n.t.Helper()
	q := url.Values{"warehouse": {"119240"}, "subscriber": {"role:keeper"}}
	maps.Copy(q, query)
	code, body := n.do(http.MethodGet, "/api/v1/notices?"+q.Encode(), "application/json", "")
	var p pageJSON
	if code == http.StatusOK {
		if err := json.Unmarshal([]byte(body), &p); err != nil {
			n.t.Fatalf("%v in %s", err, body)
		}
	}
	return code, p
}

// await polls until a page has count notices, and returns it.
func (n *node) await(query url.Values, count int) pageJSON {
	n.t.Helper()
	var last pageJSON
	testenv.Eventually(n.t, func() bool {
		code, p := n.poll(query)
		if code == http.StatusOK {
			last = p
		}
		return len(last.Notices) >= count
	}, 20*time.Second)
	if len(last.Notices) != count {
		n.t.Fatalf("%d notices, want %d: %+v", len(last.Notices), count, last.Notices)
	}
	return last
}

// status is what /status reports.
func (n *node) status() wire.StatusReport {
	n.t.Helper()
	code, body := n.do(http.MethodGet, "/api/v1/status", "application/json", "")
	var r wire.StatusReport
	if code != http.StatusOK {
		n.t.Fatalf("status answers %d: %s", code, body)
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		n.t.Fatalf("%v in %s", err, body)
	}
	return r
}

// rule returns the status of a rule without scopes.
func (n *node) rule(id string) wire.RuleStatus {
	n.t.Helper()
	for _, r := range n.status().Rules {
		if r.ID == id {
			return r
		}
	}
	n.t.Fatalf("no rule %s in /status", id)
	return wire.RuleStatus{}
}

// wmsDB is a WMS database that tests write and Tallyman reads.
type wmsDB struct {
	t  testing.TB
	db *sql.DB
}

const stockTable = `CREATE TABLE bin_stock (wh_id BIGINT NOT NULL, bin_code TEXT NOT NULL, sku TEXT NOT NULL, qty NUMERIC NOT NULL)`

// sqliteWMS gives the site a source "wms" in a file of its own.
func (s *site) sqliteWMS() *wmsDB {
	s.t.Helper()
	path := filepath.Join(s.dir, "wms.db")
	s.cfg.Sources["wms"] = config.Source{Driver: config.SQLite, Path: path, MaxConnections: 2, StatementTimeout: 5 * time.Second}
	return openWMS(s.t, "sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)")
}

// postgresWMS gives the site a source "wms" on a real PostgreSQL.
func (s *site) postgresWMS() *wmsDB {
	s.t.Helper()
	url := testenv.Postgres(s.t)
	s.cfg.Sources["wms"] = config.Source{Driver: config.Postgres, URL: config.NewSecret(url), MaxConnections: 2, StatementTimeout: 5 * time.Second}
	return openWMS(s.t, "pgx", url)
}

func openWMS(t testing.TB, driver, dsn string) *wmsDB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := &wmsDB{t: t, db: db}
	w.exec(stockTable)
	return w
}

func (w *wmsDB) exec(query string) {
	w.t.Helper()
	if _, err := w.db.ExecContext(context.Background(), query); err != nil {
		w.t.Fatal(err)
	}
}

// environments are the embedded default and real servers; each prepares a site and makes its WMS.
var environments = map[string]func(*site) *wmsDB{
	"embedded":     (*site).sqliteWMS,
	"real servers": func(s *site) *wmsDB { s.realServers(); return s.postgresWMS() },
}
