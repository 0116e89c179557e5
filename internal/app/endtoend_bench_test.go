package app_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/engine"
)

const badRows = 20_000

// stopwatch notes when the run passed each step that is the first to have something to deliver.
type stopwatch struct {
	mu         sync.Mutex
	at         map[string]time.Time
	delivering bool
}

func (w *stopwatch) pass(step string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delivering = w.delivering || step == engine.StepDelivering
	if !w.delivering {
		w.at[step] = time.Now()
	}
}

func (w *stopwatch) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at, w.delivering = map[string]time.Time{}, false
}

// between returns the time from one step to another.
func (w *stopwatch) between(from, to string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at[to].Sub(w.at[from])
}

func (w *stopwatch) since(step string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.at[step])
}

// BenchmarkEndToEnd takes 20,000 bad rows that one scan finds to the client that polls them all: PostgreSQL as WMS and
// as ledger (fsync on), a real Redis, HTTP. The stages show what bounds it; polling overlaps with delivery.
func BenchmarkEndToEnd(b *testing.B) {
	s := newSite(b)
	s.realServers()
	wms := s.postgresWMS()
	s.rule("stock.yaml", strings.Replace(stockRule, "    probe:\n", "    probe:\n      max_rows: 100000\n      timeout: 1m\n", 1))
	watch := &stopwatch{at: map[string]time.Time{}}
	s.step = watch.pass
	n := s.start("one")

	cursor := ""
	var total, scan, compose, commit, deliver time.Duration
	for i := range b.N {
		watch.reset()
		wms.exec(fmt.Sprintf(`INSERT INTO bin_stock SELECT 119240, 'R%d-' || i, 'S1', -1 FROM generate_series(1, %d) i`, i, badRows))
		cursor = n.drain(b, cursor, badRows)
		total += watch.since(engine.StepClaimed)
		scan += watch.between(engine.StepClaimed, engine.StepScanned)
		compose += watch.between(engine.StepScanned, engine.StepJudged)
		commit += watch.between(engine.StepJudged, engine.StepCommitted)
		deliver += watch.since(engine.StepCommitted)

		wms.exec(`DELETE FROM bin_stock`) // and the resolutions, which are not measured
		cursor = n.drain(b, cursor, badRows)
	}
	b.ReportMetric(float64(badRows*b.N)/total.Seconds(), "notices/s")
	for name, d := range map[string]time.Duration{"scan": scan, "compose": compose, "commit": commit, "deliver+poll": deliver} {
		b.ReportMetric(d.Seconds()*1000/float64(b.N), name+"_ms")
	}
	b.ReportMetric(0, "ns/op")
}

// drain polls as a client does until it has got count notices, and returns the cursor.
func (n *node) drain(b *testing.B, cursor string, count int) string {
	b.Helper()
	for got := 0; got < count; {
		q := url.Values{"limit": {"200"}, "wait": {"5s"}}
		if cursor != "" {
			q.Set("after", cursor)
		}
		code, p := n.poll(q)
		if code != http.StatusOK {
			b.Fatalf("the poll answers %d", code)
		}
		if p.Reset {
			b.Fatal("the client fell behind the inbox's cap")
		}
		got += len(p.Notices)
		cursor = p.Cursor
	}
	return cursor
}
