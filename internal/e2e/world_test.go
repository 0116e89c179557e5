package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	stateRule = "negative-bin-stock"
	eventRule = "negative-movement"
)

// warehouses are the scopes of the state rule.
var warehouses = []string{"119240", "119241"}

// worldRules look every second: one for bins below zero, which are put right again, the other for movements, which are told
// once each. Their scans take some time, so that a kill may come in the middle of one.
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
      max_rows: 5
    when: qty < 0
    key: [id]
    notice: {type: MOVE_NOTICE, warehouse: wh_id, title: "{{ .bin_code }} went to {{ .qty }}", fields: {bin: bin_code}}
    deliver: [{sink: inbox}]
`

// world changes the WMS and knows what clients must have heard in the end.
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

// change drives a bin below zero or puts it right, and books some movements.
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

// known tells whether the client has heard how things are in its warehouse, and "" or what is missing.
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
