package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
	pgledger "tallyman/internal/ledger/postgres"
	"tallyman/internal/testenv"
)

// configFile is the configuration in the folder of a cluster.
const configFile = "tallyman.yaml"

const configText = `
http: {listen: "127.0.0.1:0"}
auth: {mode: none}
redis: {url: %q}
ledger: {url: %q, retention: 1d}
rules: {paths: [rules]}
types: {path: types.yaml}
sources:
  wms: {driver: postgres, url: %q, max_connections: 4, statement_timeout: 60s, functions: [pg_sleep]}
sinks:
  inbox: {type: inbox}
subscriptions:
  - {type: REP_NOTICE, warehouse: "*", subscriber: "role:keeper"}
  - {type: MOVE_NOTICE, warehouse: "*", subscriber: "role:keeper"}
  - {type: MOVE_NOTICE, warehouse: "*", subscriber: "user:7"}
`

const typesText = `
types:
  - {code: REP_NOTICE, id: 1, name: Replenishment notice, retention: 72h, fields: {bin: {type: string}}}
  - {code: MOVE_NOTICE, id: 2, name: Movement notice, retention: 72h, fields: {bin: {type: string}}}
`

// cluster is a WMS, a ledger and a Redis, and the nodes that run on them.
type cluster struct {
	t         *testing.T
	dir       string
	redis     *testenv.RedisServer
	wms       *pgxpool.Pool
	ledgerURL string
	lease     time.Duration
	// badNetwork is an address of the ledger on which every larger commit is cut off.
	badNetwork bool
	// front is the proxy that clients ask. Nil means they ask the nodes.
	front *front

	mu      sync.Mutex
	bases   []string // where each of the nodes listens, or listened before it died
	started int
}

// front is a proxy before the nodes.
type front struct {
	url       string
	transport http.RoundTripper
}

// newCluster makes a cluster with the rules and without nodes. The WMS has the tables bin_stock and movement. The
// settings apply to the sessions of the ledger's database.
func newCluster(t *testing.T, lease time.Duration, rules string, settings ...string) *cluster {
	t.Helper()
	return newClusterOn(t, strings.Join(append([]string{testenv.Postgres(t)}, settings...), "&"), lease, rules)
}

// newClusterOn is newCluster with the ledger at the URL.
func newClusterOn(t *testing.T, ledgerURL string, lease time.Duration, rules string) *cluster {
	t.Helper()
	c := newBareCluster(t, ledgerURL, lease, rules)
	cfg, err := app.LoadConfig(config.Options{File: filepath.Join(c.dir, configFile)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Migrate(t.Context(), cfg, app.MigrateOptions{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// newBareCluster is newClusterOn with a database that has no tables of the ledger yet.
func newBareCluster(t *testing.T, ledgerURL string, lease time.Duration, rules string) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir(), redis: testenv.Redis(t), ledgerURL: ledgerURL, lease: lease}
	wmsURL := testenv.Postgres(t)
	c.write(configFile, fmt.Sprintf(configText, c.redis.URL(), c.ledgerURL, wmsURL))
	c.write("types.yaml", typesText)
	c.write("rules/rules.yaml", rules)
	var err error
	if c.wms, err = pgxpool.New(t.Context(), wmsURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.wms.Close)
	c.exec(t.Context(), `CREATE TABLE bin_stock (wh_id BIGINT NOT NULL, bin_code TEXT NOT NULL, qty BIGINT NOT NULL, PRIMARY KEY (wh_id, bin_code));
		CREATE TABLE movement (id BIGINT PRIMARY KEY, wh_id BIGINT NOT NULL, bin_code TEXT NOT NULL, qty BIGINT NOT NULL)`)
	return c
}

func (c *cluster) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// configure replaces texts of the configuration: old, new, …
func (c *cluster) configure(pairs ...string) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, configFile))
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(configFile, strings.NewReplacer(pairs...).Replace(string(text)))
}

// sinks adds lines to the sinks of the configuration.
func (c *cluster) sinks(lines string) {
	c.t.Helper()
	const inbox = "  inbox: {type: inbox}\n"
	c.configure(inbox, inbox+lines)
}

// exec runs a statement in the WMS.
func (c *cluster) exec(ctx context.Context, query string, args ...any) {
	c.t.Helper()
	if _, err := c.wms.Exec(ctx, query, args...); err != nil {
		c.t.Errorf("%s: %v", query, err)
	}
}

// start runs a node in a place that clients know. Every process has a node name of its own.
func (c *cluster) start(place int, settings ...string) *node {
	c.t.Helper()
	c.started++
	settings = append([]string{childLease + "=" + c.lease.String()}, settings...)
	n := start(c.t, c.dir, fmt.Sprintf("node-%d-%d", place, c.started), settings...)
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.bases) <= place {
		c.bases = append(c.bases, "")
	}
	c.bases[place] = n.base
	return n
}

// base returns the URL of the API in the place with the number, modulo the places. It is empty before the first start.
func (c *cluster) base(number int) string {
	if c.front != nil {
		return c.front.url
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.bases) == 0 {
		return ""
	}
	return c.bases[number%len(c.bases)]
}

// openLedger opens the ledger while nodes use it.
func (c *cluster) openLedger() ledger.Ledger {
	c.t.Helper()
	l, err := pgledger.Open(c.t.Context(), c.ledgerURL, ledger.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = l.Close() })
	return l
}

// connect opens a connection to the ledger's database, until the test ends.
func (c *cluster) connect() *pgx.Conn {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.ledgerURL)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(c.t.Context(), `SET idle_in_transaction_session_timeout = 0`); err != nil {
		c.t.Fatal(err)
	}
	return conn
}
