package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/item"
	"tallyman/internal/wire"
)

const (
	eventRate    = 20 // rows a second that come into the WMS; each becomes a notice in the inbox and at the webhook
	itemRate     = 50 // items a second that are pushed, leased and acked
	eventRules   = 10 // rules that look each second for the events of their warehouse
	queueWorkers = 4
	offerEvery   = 100 * time.Millisecond
	pushMost     = 500                    // items in a call
	retryPause   = 100 * time.Millisecond // after a call that failed
)

// tally records the fate of the jobs of a workload. The jobs are numbered from 1.
type tally struct {
	mu      sync.Mutex
	offered int
	by      map[int]string // keyed by job: what has done the job: a notice by its id, or an attempt
	times   []time.Time    // when jobs were done
	doubled int            // how often another notice or attempt did a done job once more
	again   int            // how often the same notice came again; a receiver drops it by its id
}

func newTally() *tally { return &tally{by: map[int]string{}} }

func (y *tally) offer(n int) (last int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.offered += n
	return y.offered
}

func (y *tally) done(job int, by string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	switch earlier, found := y.by[job]; {
	case !found:
		y.by[job] = by
		y.times = append(y.times, time.Now())
	case earlier == by:
		y.again++
	default:
		y.doubled++
	}
}

// open returns how many jobs were offered and are not done.
func (y *tally) open() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.offered - len(y.by)
}

// rate returns how many jobs were done per second in the span.
func (y *tally) rate(s span) float64 {
	y.mu.Lock()
	defer y.mu.Unlock()
	n := 0
	for _, at := range y.times {
		if !at.Before(s.from) && at.Before(s.to) {
			n++
		}
	}
	return float64(n) / s.to.Sub(s.from).Seconds()
}

// workload offers events and items at a constant rate, and does the work.
type workload struct {
	t      testing.TB
	wms    string
	nodes  [2]atomic.Pointer[nodeProcess]
	client http.Client
	factor atomic.Int64 // of the load, in percent

	notices, items, calls *tally // notices as the ledger has them, items of the queue, calls of the webhook
	stopOffering, stop    context.CancelFunc
	offering, working     sync.WaitGroup
}

func newWorkload(t testing.TB, wms string) *workload {
	t.Helper()
	w := &workload{t: t, wms: wms, notices: newTally(), items: newTally(), calls: newTally()}
	w.client.Timeout = 5 * time.Second
	w.factor.Store(100)
	return w
}

// receiver starts a server that takes the calls of the webhook, and returns its URL.
func (w *workload) receiver() string {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n toldNotice
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			w.t.Errorf("a call of the webhook cannot be read: %v", err)
			return
		}
		w.calls.done(n.event(w.t), n.ID)
	}))
	w.t.Cleanup(s.Close)
	return s.URL
}

// toldNotice has the fields of a notice that the workload reads.
type toldNotice struct {
	ID   string `json:"id"`
	Data struct {
		Bin string `json:"bin"`
	} `json:"data"`
}

// event returns the number of the event that the notice is about.
func (n toldNotice) event(t testing.TB) int {
	t.Helper()
	number, err := strconv.Atoi(strings.TrimPrefix(n.Data.Bin, "E-"))
	if err != nil {
		t.Errorf("notice %s is about bin %q, which is no event", n.ID, n.Data.Bin)
	}
	return number
}

// start begins to offer jobs and to do the jobs. stopOffering ends the offers. The end of the test ends the work, too.
func (w *workload) start() {
	ctx, cancel := context.WithCancel(w.t.Context())
	w.stop = cancel
	offering, stop := context.WithCancel(ctx)
	w.stopOffering = stop
	w.t.Cleanup(func() { cancel(); w.offering.Wait(); w.working.Wait() })
	w.offering.Go(func() {
		w.offer(offering, eventRate, func(n int) {
			w.notices.offer(n)
			last := w.calls.offer(n)
			w.insert(ctx, last-n+1, last)
		})
	})
	w.offering.Go(func() {
		w.offer(offering, itemRate, func(n int) {
			for last := w.items.offer(n); n > 0; n -= pushMost {
				w.push(ctx, last-n+1, last-n+min(n, pushMost))
			}
		})
	})
	for i := range queueWorkers {
		w.working.Go(func() { w.work(ctx, "worker"+strconv.Itoa(i)) })
	}
}

// offer calls give with the number of jobs that are due at the rate. If a call takes long, the jobs that became due
// meanwhile come with the next call.
func (w *workload) offer(ctx context.Context, rate float64, give func(n int)) {
	tick := time.NewTicker(offerEvery)
	defer tick.Stop()
	owed, last := 0.0, time.Now()
	for {
		select {
		case now := <-tick.C:
			owed += rate * now.Sub(last).Seconds() * float64(w.factor.Load()) / 100
			last = now
			if n := int(owed); n > 0 {
				owed -= float64(n)
				give(n)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (w *workload) insert(ctx context.Context, from, to int) {
	for ctx.Err() == nil {
		c, err := pgx.Connect(ctx, w.wms)
		if err == nil {
			_, err = c.Exec(ctx, "INSERT INTO events SELECT n, n % $3::int + 1 FROM generate_series($1::int, $2::int) n ON CONFLICT DO NOTHING", from, to, eventRules)
			_ = c.Close(context.WithoutCancel(ctx))
		}
		if err == nil {
			return
		}
		<-time.After(retryPause)
	}
}

// push pushes items with ids of their own, so that a repeated push adds no item twice.
func (w *workload) push(ctx context.Context, from, to int) {
	form := wire.PushForm{}
	for n := from; n <= to; n++ {
		form.Items = append(form.Items, wire.PushItemForm{ID: "job-" + strconv.Itoa(n), Payload: wire.Payload(strconv.Itoa(n))})
	}
	var pushed wire.PushedForm
	w.insist(ctx, from, "/items", form, &pushed)
}

// work leases items, and acks the items of the lease before in the same request. It repeats each request until it gets
// an answer.
func (w *workload) work(ctx context.Context, worker string) {
	form := wire.StepForm{Worker: worker, Max: 10}
	form.Wait = "1s"
	for request := 1; ctx.Err() == nil; request++ {
		form.RequestID = strconv.Itoa(request)
		var answer wire.SteppedForm
		if !w.insist(ctx, request, "/step", form, &answer) {
			return
		}
		for i, r := range answer.Results { // An item whose lease was lost comes again.
			if r.Outcome == "ok" {
				n, _ := strconv.Atoi(strings.TrimPrefix(r.ID, "job-"))
				w.items.done(n, fmt.Sprint("attempt ", form.Ops[i].Attempt))
			}
		}
		form.Ops = nil
		for _, l := range answer.Items {
			form.Ops = append(form.Ops, wire.OpForm{Op: string(item.Ack), ID: l.ID, OpFields: wire.OpFields{Attempt: l.Attempt}})
		}
	}
}

// insist repeats a request, at the two nodes in turns, until it gets an answer. It returns false if the context has
// ended, or if the node refuses the request.
func (w *workload) insist(ctx context.Context, first int, path string, form, answer any) bool {
	body, err := json.Marshal(form)
	if err != nil {
		w.t.Error(err)
		return false
	}
	for i := first; ctx.Err() == nil; i++ {
		status, text, err := w.call(ctx, http.MethodPost, i, "/queues/work"+path, body)
		switch {
		case err == nil && status < 300:
			if err := json.Unmarshal(text, answer); err != nil {
				w.t.Errorf("the answer of %s: %v", path, err)
			}
			return true
		case err == nil && status < 500 && status != http.StatusTooManyRequests:
			w.t.Errorf("%s is answered with %d: %s", path, status, text)
			return false
		}
		<-time.After(retryPause)
	}
	return false
}

// call asks one of the nodes.
func (w *workload) call(ctx context.Context, method string, node int, path string, body []byte) (status int, text []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, w.nodes[node%len(w.nodes)].Load().base+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := w.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err = io.ReadAll(answer.Body)
	return answer.StatusCode, text, err
}

// inbox reads all notices of the inbox into a tally.
func (w *workload) inbox() *tally {
	told := newTally()
	told.offered = w.calls.offered
	for warehouse := 1; warehouse <= eventRules; warehouse++ {
		for cursor, more := "", true; more; {
			var page struct {
				Notices []toldNotice `json:"notices"`
				Cursor  string       `json:"cursor"`
				More    bool         `json:"more"`
			}
			path := fmt.Sprintf("/notices?warehouse=%d&subscriber=role:keeper&limit=200&after=%s", warehouse, cursor)
			status, text, err := w.call(w.t.Context(), http.MethodGet, 0, path, nil)
			if err == nil {
				err = json.Unmarshal(text, &page)
			}
			if err != nil || status != http.StatusOK {
				w.t.Fatalf("the inbox of warehouse %d: %d %s %v", warehouse, status, text, err)
			}
			for _, n := range page.Notices {
				told.done(n.event(w.t), n.ID)
			}
			cursor, more = page.Cursor, page.More
		}
	}
	return told
}
