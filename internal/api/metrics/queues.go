package metrics

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tallyman/internal/item"
)

// Sizer reads the depth of a queue. Sizer must return when its context ends.
type Sizer interface {
	Sizes(ctx context.Context, test bool, scope item.Scope) (item.Sizes, error)
}

// Queues has gauges of queues. Queues reads the depths at each scrape. A queue that does not answer in time has no
// series in that scrape. Queues reads all queues at the same time, so a scrape waits at most sizesTimeout.
type Queues struct {
	queues map[string]Sizer
	items  *prometheus.Desc
	depth  *prometheus.Desc
	ready  *prometheus.Desc
	oldest *prometheus.Desc

	mu    sync.Mutex
	asked time.Time
	last  map[string]item.Sizes // The result of the last reading.
}

const (
	sizesTimeout = 2 * time.Second // For all queues together.
	sizesFresh   = time.Second     // Several scrapers share one reading.
)

// NewQueues makes the gauges of queues, by name. Test twins are not counted.
func NewQueues(queues map[string]Sizer) *Queues {
	return &Queues{
		queues: maps.Clone(queues),
		items: prometheus.NewDesc(namespace+"_queue_items", "Items in a queue, by state: ready, assigned (ready for one worker), leased, delayed, suspended, stored or dead.",
			[]string{"queue", "state"}, nil),
		depth: prometheus.NewDesc(namespace+"_queue_warehouse_items", "Items in a queue, by warehouse and state. Above 100 warehouses the rest count together as (other). (none) is items without a warehouse.",
			[]string{"queue", "warehouse", "state"}, nil),
		ready: prometheus.NewDesc(namespace+"_queue_ready_items", "Ready items, by priority.",
			[]string{"queue", "priority"}, nil),
		oldest: prometheus.NewDesc(namespace+"_queue_oldest_seconds", "How long the first item of a priority has been ready; 0 = there is none.",
			[]string{"queue", "priority"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (q *Queues) Describe(ch chan<- *prometheus.Desc) {
	ch <- q.items
	ch <- q.depth
	ch <- q.ready
	ch <- q.oldest
}

// Collect implements prometheus.Collector.
func (q *Queues) Collect(ch chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	now := time.Now()
	for name, s := range q.sizes() {
		for state, n := range byState(&item.Depth{
			Ready: s.Ready, Assigned: s.Assigned, Leased: s.Leased, Delayed: s.Delayed, Suspended: s.Suspended, Stored: s.Stored, Dead: s.Dead,
		}) {
			gauge(q.items, float64(n), name, string(state))
		}
		for warehouse, counts := range byWarehouse(s.Warehouses) {
			for state, n := range counts {
				gauge(q.depth, float64(n), name, warehouse, string(state))
			}
		}
		for _, l := range s.Levels {
			age := 0.0
			if !l.Oldest.IsZero() {
				age = max(now.Sub(l.Oldest).Seconds(), 0)
			}
			gauge(q.ready, float64(l.Ready), name, strconv.Itoa(l.Priority))
			gauge(q.oldest, age, name, strconv.Itoa(l.Priority))
		}
	}
}

// The maximum number of warehouses of a queue with series of their own, the label of the rest, and the label of items
// without a warehouse.
const (
	mostWarehouses  = 100
	otherWarehouses = "(other)"
	noWarehouse     = "(none)"
)

func byState(d *item.Depth) map[item.State]int64 {
	return map[item.State]int64{
		item.Ready: d.Ready, item.Assigned: d.Assigned, item.Leased: d.Leased, item.Delayed: d.Delayed, item.Suspended: d.Suspended,
		item.Stored: d.Stored, item.Dead: d.Dead,
	}
}

// byWarehouse counts items by warehouse. The first warehouses by name have series of their own, so that the series stay
// the same when items move.
func byWarehouse(list []item.Depth) map[string]map[item.State]int64 {
	list = slices.SortedFunc(slices.Values(list), func(a, b item.Depth) int { return strings.Compare(a.Warehouse, b.Warehouse) })
	out := map[string]map[item.State]int64{}
	for i := range list {
		label := list[i].Warehouse
		switch {
		case label == "":
			label = noWarehouse
		case len(out) >= mostWarehouses:
			label = otherWarehouses
		}
		if out[label] == nil {
			out[label] = map[item.State]int64{}
		}
		for state, n := range byState(&list[i]) {
			out[label][state] += n
		}
	}
	return out
}

// sizes returns the depths of the queues that answer. The map is shared: callers must not change it.
func (q *Queues) sizes() map[string]item.Sizes {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.asked.IsZero() && time.Since(q.asked) < sizesFresh {
		return q.last
	}
	q.last = ask(q.queues)
	q.asked = time.Now()
	return q.last
}

// ask reads all queues at once.
func ask(queues map[string]Sizer) map[string]item.Sizes {
	ctx, cancel := context.WithTimeout(context.Background(), sizesTimeout)
	defer cancel()
	var mu sync.Mutex
	var asking sync.WaitGroup
	sizes := make(map[string]item.Sizes, len(queues))
	for name, queue := range queues {
		asking.Go(func() {
			s, err := queue.Sizes(ctx, false, nil)
			if err != nil {
				return // The readiness of the queue has the error.
			}
			mu.Lock()
			defer mu.Unlock()
			sizes[name] = s
		})
	}
	asking.Wait()
	return sizes
}
