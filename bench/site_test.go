package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/testenv"
)

// site is a system under pressure: two nodes, a WMS on a server of its own, and the servers of Tallyman.
type site struct {
	*servers
	*workload
	b       *testing.B
	ledger  *pgx.ConnConfig
	program string
	dir     string // of the nodes' configuration
	dead    *deadRows
}

// newSite starts a system, and its load.
func newSite(b *testing.B, program string) *site {
	b.Helper()
	s := &site{servers: newServers(b), b: b, program: program}
	for _, statement := range []string{"ALTER SYSTEM SET autovacuum_naptime = '" + autovacuumEvery + "'", "SELECT pg_reload_conf()"} {
		execute(b, s.postgres.URL("postgres"), statement)
	}
	wms, ledgerURL := testenv.Postgres(b), s.postgres.Database()
	execute(b, wms, "CREATE TABLE events (n integer PRIMARY KEY, wh_id integer)")
	var err error
	if s.ledger, err = pgx.ParseConfig(ledgerURL); err != nil {
		b.Fatal(err)
	}
	s.workload = newWorkload(b, wms)
	s.dir = s.configure(wms, ledgerURL)
	migrate(b, program, s.dir)
	for i := range s.nodes {
		s.startNode(i)
	}
	s.dead = watchDead(b, ledgerURL)
	s.start()
	return s
}

func (s *site) startNode(i int) {
	s.b.Helper()
	s.nodes[i].Store(startNode(s.b, s.program, s.dir, fmt.Sprint("node", i)))
}

// configure writes the files of the nodes and returns their folder.
func (s *site) configure(wms, ledgerURL string) string {
	s.b.Helper()
	dir := s.b.TempDir()
	write(s.b, dir, "tallyman.yaml", fmt.Sprintf(`http: {listen: "127.0.0.1:0"}
auth: {mode: none}
redis: {url: "redis://%s/0"}
ledger: {url: "%s"}
rules: {paths: [rules.yaml]}
types: {path: types.yaml}
sources:
  wms: {driver: postgres, url: "%s"}
sinks:
  inbox: {type: inbox, cap: 100000}
  work: {type: queue}
  hook: {type: webhook, url: "%s", allow_private: true}
subscriptions:
  - {type: REP_NOTICE, warehouse: "*", subscriber: "role:keeper"}
`, s.redis.Addr, ledgerURL, wms, s.receiver()))
	writeTypes(s.b, dir)
	var rules strings.Builder
	rules.WriteString("version: 1\ndefaults: {source: wms, owner: bench}\nrules:\n")
	for r := 1; r <= eventRules; r++ {
		fmt.Fprintf(&rules, `  - id: events-%d
    title: Event
    description: An event of the warehouse.
    mode: event
    schedule: {cron: "@every 1s", jitter: 0s}
    probe:
      sql: SELECT n, wh_id, 'E-' || n AS bin FROM events WHERE wh_id = %d AND n > :wm_n ORDER BY n
      watermark: {columns: [n], initial: {n: 0}, look_back: 0}
    key: [n]
    notice: {type: REP_NOTICE, warehouse: wh_id, priority: 4, title: "Event {{ .bin }}", body: "Event {{ .bin }}.", fields: {bin: bin}}
    deliver: [{sink: inbox}, {sink: hook, strategy: important}]
`, r, r)
	}
	write(s.b, dir, "rules.yaml", rules.String())
	return dir
}

// readLedger reads from the firings of the ledger when the ledger got the notices, and counts the notices. Before that
// it waits until every item has ended in the ledger, too.
func (s *site) readLedger() {
	s.b.Helper()
	c := s.connect(s.ledger.Database)
	defer c.close()
	var count, open int
	s.await("record the ends of items", drainWithin, func() bool {
		err := c.QueryRow(s.b.Context(), "SELECT (SELECT count(*) FROM notices), (SELECT count(*) FROM open_items)").Scan(&count, &open)
		return err == nil && open == 0
	})
	y := s.notices
	y.doubled = max(0, count-y.offered)
	rows, err := c.Query(s.b.Context(), "SELECT started_at + duration, notices FROM all_firings WHERE notices > 0 ORDER BY due")
	if err != nil {
		s.b.Fatal(err)
	}
	var at, notices int64
	if _, err := pgx.ForEachRow(rows, []any{&at, &notices}, func() error {
		for range notices {
			y.times = append(y.times, time.UnixMicro(at))
			y.by[len(y.times)] = "ledger"
		}
		return nil
	}); err != nil {
		s.b.Fatal(err)
	}
	if len(y.times) != count {
		s.b.Errorf("the ledger has %d notices, and its firings made %d", count, len(y.times))
	}
}
