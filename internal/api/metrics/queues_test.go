package metrics_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/api/metrics"
	"tallyman/internal/item"
)

// sizer answers with its sizes; one without any does not answer at all.
type sizer struct {
	asked atomic.Int64
	sizes *item.Sizes
}

func (s *sizer) Sizes(ctx context.Context, test bool, _ item.Scope) (item.Sizes, error) {
	s.asked.Add(1)
	if s.sizes == nil || test {
		<-ctx.Done()
		return item.Sizes{}, ctx.Err()
	}
	return *s.sizes, nil
}

func withQueues(t *testing.T, queues map[string]metrics.Sizer) *metrics.Metrics {
	t.Helper()
	m := newMetrics(t)
	if err := m.Register(metrics.NewQueues(queues)); err != nil {
		t.Fatal(err)
	}
	return m
}

// queueSeries are the series of queues.
func queueSeries(m *metrics.Metrics) []string {
	return slices.DeleteFunc(scrape(m), func(line string) bool { return !strings.HasPrefix(line, "tallyman_queue_") })
}

func TestQueuesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := &sizer{sizes: &item.Sizes{
			Levels: []item.Level{{Priority: 5, Ready: 2, Oldest: time.Now()}, {Priority: 3}},
			Ready:  2, Assigned: 1, Leased: 3, Delayed: 4, Suspended: 5, Stored: 6, Dead: 7,
		}}
		m := withQueues(t, map[string]metrics.Sizer{"replenishment": full})
		<-time.After(90 * time.Second)
		want := []string{
			`tallyman_queue_items{queue="replenishment",state="assigned"} 1`,
			`tallyman_queue_items{queue="replenishment",state="dead"} 7`,
			`tallyman_queue_items{queue="replenishment",state="delayed"} 4`,
			`tallyman_queue_items{queue="replenishment",state="leased"} 3`,
			`tallyman_queue_items{queue="replenishment",state="ready"} 2`,
			`tallyman_queue_items{queue="replenishment",state="stored"} 6`,
			`tallyman_queue_items{queue="replenishment",state="suspended"} 5`,
			`tallyman_queue_oldest_seconds{priority="3",queue="replenishment"} 0`,
			`tallyman_queue_oldest_seconds{priority="5",queue="replenishment"} 90`,
			`tallyman_queue_ready_items{priority="3",queue="replenishment"} 0`,
			`tallyman_queue_ready_items{priority="5",queue="replenishment"} 2`,
		}
		if got := queueSeries(m); !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// Warehouses are a label of no more than 100 values, and some more for the rest.
func TestWarehousesAreCountedWithinBounds(t *testing.T) {
	sizes := item.Sizes{Warehouses: []item.Depth{{Ready: 7}}}
	for i := range 150 {
		sizes.Warehouses = append(sizes.Warehouses, item.Depth{Warehouse: fmt.Sprintf("W%03d", 149-i), Leased: 2})
	}
	m := withQueues(t, map[string]metrics.Sizer{"replenishment": &sizer{sizes: &sizes}})
	series, warehouses := 0, map[string]bool{}
	for _, line := range queueSeries(m) {
		if !strings.HasPrefix(line, "tallyman_queue_warehouse_items{") {
			continue
		}
		series++
		_, rest, _ := strings.Cut(line, `warehouse="`)
		name, value, _ := strings.Cut(rest, `"`)
		warehouses[name] = true
		want := map[string]string{"(none) ready": "7", "(other) leased": "102", "W000 leased": "2"}
		for what, n := range want {
			warehouse, state, _ := strings.Cut(what, " ")
			if name == warehouse && strings.Contains(line, `state="`+state+`"`) && !strings.HasSuffix(value, "} "+n) {
				t.Errorf("%s, want %s", line, n)
			}
		}
	}
	if len(warehouses) != 101 || series != 7*101 || !warehouses["W098"] || warehouses["W099"] || !warehouses["(none)"] {
		t.Errorf("%d series of %d warehouses", series, len(warehouses))
	}
}

func TestScrapesDoNotWaitForAQueueThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away, here := &sizer{}, &sizer{sizes: &item.Sizes{Ready: 1}}
		m := withQueues(t, map[string]metrics.Sizer{"away": away, "here": here})
		began := time.Now()
		got := queueSeries(m)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the scrape took %s", took)
		}
		if len(got) != 7 || slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, "away") }) {
			t.Errorf("got\n%s", strings.Join(got, "\n"))
		}
	})
}

func TestManyScrapesAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away, here := &sizer{}, &sizer{sizes: &item.Sizes{Ready: 1}}
		m := withQueues(t, map[string]metrics.Sizer{"away": away, "here": here})
		for range 3 {
			queueSeries(m)
		}
		if a, h := away.asked.Load(), here.asked.Load(); a != 1 || h != 1 {
			t.Errorf("asked %d and %d times", a, h)
		}
		<-time.After(time.Second)
		queueSeries(m)
		if a, h := away.asked.Load(), here.asked.Load(); a != 2 || h != 2 {
			t.Errorf("a second later asked %d and %d times", a, h)
		}
	})
}
