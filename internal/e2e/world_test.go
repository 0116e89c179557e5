package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

const (
	stateRule = "negative-bin-stock"
	eventRule = "negative-movement"
)

// warehouses are the scopes of the state rule.
var warehouses = []string{"119240", "119241"}

// worldRules run every second. One finds bins below zero, which are corrected later. The other sends one notice for
// each movement. Their scans take some time, so that a kill may come in the middle of a scan.
const worldRules = `
version: 1
defaults: {source: wms, schedule: {cron: "* * * * * *"}}
rules:
  - id: negative-bin-stock
    scopes:
      - {name: "119240", params: {warehouse: 119240}}
      - {name: "119241", params: {warehouse: 119241}}
    probe:
      sql: SELECT wh_id, bin_code, qty FROM bin_stock WHERE wh_id = :warehouse AND qty < 0 AND (SELECT pg_sleep(0.05)) IS NOT NULL
    key: [wh_id, bin_code]
    notice: {type: REP_NOTICE, warehouse: wh_id, title: "Bin {{ .bin_code }} is at {{ .qty }}", fields: {bin: bin_code}, send_resolved: true}
    deliver: [{sink: inbox}]
  - id: negative-movement
    mode: event
    probe:
      sql: SELECT id, wh_id, bin_code, qty FROM movement WHERE id > :wm_id AND (SELECT pg_sleep(0.05)) IS NOT NULL ORDER BY id
      watermark: {columns: [id], initial: {id: 0}}
      max_rows: 10
    when: qty < 0
    key: [id]
    notice: {type: MOVE_NOTICE, warehouse: wh_id, title: "{{ .bin_code }} went to {{ .qty }}", fields: {bin: bin_code}}
    deliver: [{sink: inbox}]
`

// world changes the WMS, and knows which notices clients must have in the end.
type world struct {
	c      *cluster
	random *rand.Rand

	mu     sync.Mutex
	bad    map[string]map[string]bool // warehouse → key of a bin → it is below zero
	events map[string]map[string]bool // warehouse → keys of the movements to tell
	id     int
}

const binsPerWarehouse = 12

func newWorld(c *cluster) *world {
	w := &world{c: c, random: rand.New(rand.NewPCG(7, 7)), bad: map[string]map[string]bool{}, events: map[string]map[string]bool{}}
	for _, wh := range warehouses {
		w.bad[wh], w.events[wh] = map[string]bool{}, map[string]bool{}
		for i := range binsPerWarehouse {
			c.exec(c.t.Context(), `INSERT INTO bin_stock VALUES ($1::text::bigint, $2, 5)`, wh, binCode(i))
			w.bad[wh][binKey(wh, i)] = false
		}
	}
	return w
}

func binCode(i int) string           { return fmt.Sprintf("A-%02d", i) }
func binKey(wh string, i int) string { return fmt.Sprintf(`[%s,"%s"]`, wh, binCode(i)) }

// live makes a change every now and then until stop is called.
func (w *world) live() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(60 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.change(context.WithoutCancel(ctx)) // whole changes only
			case <-ctx.Done():
				return
			}
		}
	})
	stop = func() {
		cancel()
		running.Wait()
	}
	w.c.t.Cleanup(stop)
	return stop
}

// change makes a bin negative or corrects it, and books some movements.
func (w *world) change(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wh, bin := warehouses[w.random.IntN(len(warehouses))], w.random.IntN(binsPerWarehouse)
	key := binKey(wh, bin)
	qty := 5
	if !w.bad[wh][key] {
		qty = -1 - w.random.IntN(9)
	}
	w.bad[wh][key] = qty < 0
	w.c.exec(ctx, `UPDATE bin_stock SET qty = $3 WHERE wh_id = $1::text::bigint AND bin_code = $2`, wh, binCode(bin), qty)
	for range w.random.IntN(3) {
		w.id++
		qty := 2 - w.random.IntN(6)
		if qty < 0 {
			w.events[wh][fmt.Sprintf("[%d]", w.id)] = true
		}
		w.c.exec(ctx, `INSERT INTO movement VALUES ($1, $2::text::bigint, $3, $4)`, w.id, wh, binCode(bin), qty)
	}
}

// known tells whether the client has the newest state of its warehouse, and else what is missing.
func (w *world) known(cl *client) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	bins, _ := cl.latest(stateRule)
	for key, bad := range w.bad[cl.warehouse] {
		if bad != (bins[key] == "firing") {
			return fmt.Sprintf("bin %s: below zero is %v, the client heard %q", key, bad, bins[key])
		}
	}
	moves, count := cl.latest(eventRule)
	for key := range w.events[cl.warehouse] {
		if moves[key] == "" {
			return fmt.Sprintf("the client of %s did not hear of movement %s", cl.warehouse, key)
		}
	}
	if count != len(w.events[cl.warehouse]) {
		return fmt.Sprintf("the client of %s heard of %d movements, there were %d", cl.warehouse, count, len(w.events[cl.warehouse]))
	}
	return ""
}

// The rules that fire every second in many scopes.
const (
	everyRule  = "every-second"  // makes good whatever was missed
	latestRule = "latest-second" // by default, the latest of it
)

// shelves are the warehouses of the first few scopes of these rules.
func shelves(count int) []string {
	list := make([]string, count)
	for i := range list {
		list[i] = strconv.Itoa(119300 + i)
	}
	return list
}

// tickRules are both, in so many scopes each. They find what is below zero on a shelf, which the source scans once for
// each look.
func tickRules(deliver string) string {
	var list, text strings.Builder
	for _, wh := range shelves(tickScopes) {
		fmt.Fprintf(&list, "\n      - {name: %q, params: {warehouse: %s}}", wh, wh)
	}
	for id, schedule := range map[string]string{everyRule: `{cron: "* * * * * *", catch_up: all}`, latestRule: `{cron: "* * * * * *"}`} {
		fmt.Fprintf(&text, `
  - id: %s
    schedule: %s
    scopes: %s
    probe: {sql: "SELECT wh_id, bin_code, qty FROM shelf WHERE wh_id = :warehouse AND qty < 0"}
    key: [wh_id, bin_code]
    notice: {type: REP_NOTICE, warehouse: wh_id, title: "{{ .bin_code }}", fields: {bin: bin_code}}
    deliver: [%s]
`, id, schedule, &list, deliver)
	}
	return text.String()
}

// shelf makes the table of these rules. It has no index, so each look at it is one scan, which the server counts.
func (c *cluster) shelf() {
	c.t.Helper()
	c.exec(c.t.Context(), `CREATE TABLE shelf (wh_id BIGINT NOT NULL, bin_code TEXT NOT NULL, qty BIGINT NOT NULL)`)
}

// put adds a bin below zero to a shelf, and returns when.
func (c *cluster) put(warehouse, bin string) time.Time {
	c.t.Helper()
	at := time.Now()
	c.exec(c.t.Context(), `INSERT INTO shelf VALUES ($1::text::bigint, $2, -1)`, warehouse, bin)
	return at
}

// firings returns the runs of a rule that is due every second.
type firings struct {
	t       *testing.T
	rule    string
	runs    []ledger.Run        // by scope and due time
	skipped map[moment]struct{} // what the nodes' logs call skipped
}

// moment is a second in which a scope was due.
type moment struct {
	scope string
	at    int64
}

func (c *cluster) firings(l ledger.Ledger, rule string) *firings {
	c.t.Helper()
	runs, err := l.Runs(c.t.Context(), rule, nil, 100_000)
	if err != nil {
		c.t.Fatal(err)
	}
	slices.SortFunc(runs, func(a, b ledger.Run) int {
		if order := strings.Compare(a.Scope, b.Scope); order != 0 {
			return order
		}
		return a.Due.Compare(b.Due)
	})
	return &firings{t: c.t, rule: rule, runs: runs, skipped: c.skipped(rule)}
}

var skips = regexp.MustCompile(`msg="(?:Firings were skipped: |Skipped firings were not recorded )[^"]+" rule=(\S+) scope="?([^\s"]*)"? skipped=(\d+) latest=(\S+)`)

// skipped reads from the nodes' logs which firings of the rule were skipped because the firing before still ran. The
// ledger does not say it of a firing that came due before one that another node has begun by then.
func (c *cluster) skipped(rule string) map[moment]struct{} {
	c.t.Helper()
	logs, err := filepath.Glob(filepath.Join(c.dir, "*.log"))
	if err != nil {
		c.t.Fatal(err)
	}
	skipped := map[moment]struct{}{}
	for _, name := range logs {
		log, err := os.ReadFile(name)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, m := range skips.FindAllStringSubmatch(string(log), -1) {
			count, err := strconv.Atoi(m[3])
			if err != nil {
				c.t.Fatal(err)
			}
			latest, err := time.Parse(time.RFC3339, m[4])
			if err != nil {
				c.t.Fatal(err)
			}
			for n := range count {
				if m[1] == rule {
					skipped[moment{m[2], latest.Unix() - int64(n)}] = struct{}{}
				}
			}
		}
	}
	return skipped
}

// awaitFirings waits until each scope of the rules has run a firing that was due at the time or later.
func (c *cluster) awaitFirings(l ledger.Ledger, scopes int, since time.Time, rules ...string) {
	c.t.Helper()
	testenv.Eventually(c.t, func() bool {
		for _, rule := range rules {
			ran := map[string]bool{}
			for _, run := range c.firings(l, rule).runs {
				ran[run.Scope] = ran[run.Scope] || !run.Due.Before(since) && run.Outcome == ledger.OutcomeOK
			}
			if len(ran) < scopes {
				return false
			}
			for _, is := range ran {
				if !is {
					return false
				}
			}
		}
		return true
	}, 60*time.Second)
}

// ok counts the runs that looked at their source.
func (f *firings) ok() (count int) {
	for _, run := range f.runs {
		if run.Outcome == ledger.OutcomeOK {
			count++
		}
	}
	return count
}

// gapless proves that from the first firing of a scope to its last each second has one run, or is one of those that
// were skipped because the one before still ran. A node may learn late that its run has ended, and report the skipped
// ones after another node has run the next. Seconds that are excused may be missing.
func (f *firings) gapless(excused func(due time.Time) bool) {
	f.t.Helper()
	for i, run := range f.runs {
		if run.Outcome != ledger.OutcomeOK && run.Outcome != ledger.OutcomeSkipped {
			f.t.Errorf("a run went wrong: %+v", run)
		}
		if i == 0 || f.runs[i-1].Scope != run.Scope {
			continue
		}
		first := f.runs[i-1].Due.Add(time.Second)
		if run.Due.Before(first) {
			f.t.Errorf("%s %s ran %v after %v", f.rule, run.Scope, run.Due, f.runs[i-1].Due)
		}
		for due := first; due.Before(run.Due); due = due.Add(time.Second) {
			if _, skipped := f.skipped[moment{run.Scope, due.Unix()}]; !skipped && !excused(due) {
				f.t.Errorf("%s %s did not run %v; then came %+v", f.rule, run.Scope, due, run)
			}
		}
	}
}

// none excuses no second.
func none(time.Time) bool { return false }

// standstill excuses a second in which no node could run a firing in time, as on an overloaded machine. In such a
// second the rule that catches up on every firing was late as well.
func (f *firings) standstill() func(due time.Time) bool {
	const late = 700 * time.Millisecond
	stood := map[int64]bool{}
	for _, run := range f.runs {
		if run.Outcome == ledger.OutcomeSkipped || run.Started.Sub(run.Due) > late {
			stood[run.Due.Unix()], stood[run.Due.Unix()-1] = true, true
		}
	}
	return func(due time.Time) bool { return stood[due.Unix()] }
}

// verifyTicks proves that the rules that fire every second have, and that the source was read once for each run. Since
// that time there were nodes in three places. The nodes of each place have run a part, also where a place was empty for a
// while. The nodes have ended.
func (c *cluster) verifyTicks(l ledger.Ledger, since time.Time) {
	c.t.Helper()
	every, latest := c.firings(l, everyRule), c.firings(l, latestRule)
	every.gapless(none)
	latest.gapless(every.standstill())
	c.scanned(int64(every.ok() + latest.ok()))
	for place, share := range c.shares(l, since) {
		if share < leastShare {
			c.t.Errorf("node-%d ran %.2f of the firings", place, share)
		}
	}
}

// leastShare is the part of the firings that the nodes of each place run at least.
const leastShare = 0.05

// shares returns which part of the firings since that time the nodes of each place have run.
func (c *cluster) shares(l ledger.Ledger, since time.Time) []float64 {
	c.t.Helper()
	by := make([]float64, nodesOfThree)
	total := 0.0
	for _, run := range slices.Concat(c.firings(l, everyRule).runs, c.firings(l, latestRule).runs) {
		if run.Outcome == ledger.OutcomeOK && run.Due.After(since) {
			var place, session int
			if _, err := fmt.Sscanf(run.Node, "node-%d-%d", &place, &session); err != nil {
				c.t.Fatal(err)
			}
			by[place]++
			total++
		}
	}
	for place := range by {
		by[place] /= max(total, 1)
	}
	return by
}

// scanned checks how often the source was read. Its server counts the scans of a session when the session ends.
func (c *cluster) scanned(want int64) {
	c.t.Helper()
	var got int64
	testenv.Eventually(c.t, func() bool {
		var sessions int
		err := c.wms.QueryRow(c.t.Context(), `SELECT (SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'shelf'),
			(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tallyman')`).Scan(&got, &sessions)
		return err == nil && sessions == 0
	}, 20*time.Second)
	if got != want {
		c.t.Errorf("the source was scanned %d times for %d runs", got, want)
	}
}
