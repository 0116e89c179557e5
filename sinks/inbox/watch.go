package inbox

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"tallyman/sinks/recovery"
)

// Watch calls news whenever one of the subscribers may have something new in the warehouse, until stop is called.
// subscribers must be sorted and unique. One last call of news may come while stop runs. news must return at once. Any
// number of watchers costs one small read of Redis per warehouse and second, because hints name the subscribers. The
// read also shows whether a hint was lost.
func (in poller) Watch(warehouse string, subscribers []string, news func()) (stop func()) {
	w := &watch{warehouse: warehouse, subscribers: subscribers, news: news}
	in.watches.enter(w)
	return func() { in.watches.leave(w) }
}

// watch is one call of Watch.
type watch struct {
	warehouse   string
	subscribers []string
	news        func()
}

// watches holds the calls of Watch, by warehouse.
type watches struct {
	mu    sync.Mutex
	wards map[string]*watchedWarehouse
}

// watchedWarehouse is a warehouse with at least one watch.
type watchedWarehouse struct {
	all map[*watch]struct{}
	by  map[string]map[*watch]struct{} // by subscriber
	// seen is the score up to which no hint is missing: either all hints came, or all watches were called. 0 means not
	// known yet.
	seen int64
	// read is the clock at the last reading, 0 before the first. If its hint has not come by the next reading, the hint is
	// lost.
	read int64
}

func (ws *watches) enter(w *watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.wards == nil {
		ws.wards = map[string]*watchedWarehouse{}
	}
	at := ws.wards[w.warehouse]
	if at == nil {
		at = &watchedWarehouse{all: map[*watch]struct{}{}, by: map[string]map[*watch]struct{}{}}
		ws.wards[w.warehouse] = at
	}
	at.all[w] = struct{}{}
	for _, s := range w.subscribers {
		if at.by[s] == nil {
			at.by[s] = map[*watch]struct{}{}
		}
		at.by[s][w] = struct{}{}
	}
}

func (ws *watches) leave(w *watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	at := ws.wards[w.warehouse]
	delete(at.all, w)
	for _, s := range w.subscribers {
		delete(at.by[s], w)
		if len(at.by[s]) == 0 {
			delete(at.by, s)
		}
	}
	if len(at.all) == 0 {
		delete(ws.wards, w.warehouse)
	}
}

// hint calls the watches that the hint concerns. If the hint shows that another one was lost, hint calls all watches of
// the warehouse.
func (ws *watches) hint(h hint) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	at := ws.wards[h.warehouse]
	if at == nil {
		return
	}
	lost := at.seen > 0 && h.from > at.seen
	at.seen = max(at.seen, h.to)
	if lost || len(h.subscribers) == 0 {
		tell(at.all)
		return
	}
	for _, s := range h.subscribers {
		tell(at.by[s])
	}
}

// clock takes a reading of a warehouse's clock.
func (ws *watches) clock(warehouse string, score int64) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	at := ws.wards[warehouse]
	if at == nil {
		return
	}
	if at.read > at.seen {
		at.seen = at.read
		tell(at.all)
	}
	at.read = score
}

// restart calls all watches, because an epoch has begun. The clocks of different epochs cannot be compared.
func (ws *watches) restart() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, at := range ws.wards {
		at.seen, at.read = 0, 0
		tell(at.all)
	}
}

func (ws *watches) warehouses() []string {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return slices.Collect(maps.Keys(ws.wards))
}

func tell(list map[*watch]struct{}) {
	for w := range list {
		w.news()
	}
}

// watchClocks finds lost hints and new epochs for the watches, until the context ends.
func (in poller) watchClocks(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	_, changed := in.keeper.Current()
	for {
		select {
		case <-tick.C:
			in.readClocks(ctx)
		case <-changed:
			var g *recovery.Generation
			if g, changed = in.keeper.Current(); g != nil { // without a generation there is nothing to look at yet
				in.watches.restart()
			}
		case <-ctx.Done():
			return
		}
	}
}

// readClocks reads the clock of every watched warehouse. Errors are tried again a second later.
func (in poller) readClocks(ctx context.Context) {
	warehouses := in.watches.warehouses()
	g, _ := in.keeper.Current()
	if g == nil || len(warehouses) == 0 {
		return
	}
	clocks, err := in.askClocks(ctx, warehouses)
	if err != nil {
		return
	}
	for i, w := range warehouses {
		if c, err := in.judgeClock(g, w, clocks[i]); err == nil {
			in.watches.clock(w, c.clock)
		}
	}
}
