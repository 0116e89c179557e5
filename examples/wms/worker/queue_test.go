package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// queue is a server that gives out items and writes down what it is asked. Where answer is set, it answers instead.
type queue struct {
	t      *testing.T
	url    string
	answer func(w http.ResponseWriter, r *http.Request, s step) bool // true = it did

	mu      sync.Mutex
	ready   []item
	asked   []step
	outcome map[string]string // of "<op> <id>"; ok where there is none
}

func newQueue(t *testing.T, ready ...item) *queue {
	t.Helper()
	q := &queue{t: t, ready: ready, outcome: map[string]string{}}
	server := httptest.NewServer(q)
	q.url = server.URL
	t.Cleanup(func() {
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return q
}

func (q *queue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var s step
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil || r.Method != http.MethodPost || r.URL.Path != "/api/v1/queues/replenishment/step" {
		q.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	q.mu.Lock()
	q.asked = append(q.asked, s)
	q.mu.Unlock()
	if q.answer == nil || !q.answer(w, r, s) {
		if err := json.NewEncoder(w).Encode(q.step(s)); err != nil {
			q.t.Error(err)
		}
	}
}

func (q *queue) step(s step) stepped {
	q.mu.Lock()
	defer q.mu.Unlock()
	answer := stepped{Results: []result{}, Items: []item{}}
	for _, o := range s.Ops {
		outcome := q.outcome[o.Op+" "+o.ID]
		if outcome == "" {
			outcome = "ok"
		}
		answer.Results = append(answer.Results, result{ID: o.ID, Outcome: outcome})
	}
	for len(q.ready) > 0 && len(answer.Items) < s.Max {
		answer.Items = append(answer.Items, q.ready[0])
		q.ready = q.ready[1:]
	}
	return answer
}

// done are the operations so far, but the extensions, as "<op> <id>".
func (q *queue) done() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []string
	for _, s := range q.asked {
		for _, o := range s.Ops {
			if o.Op != "extend" {
				list = append(list, o.Op+" "+o.ID)
			}
		}
	}
	return list
}

func (q *queue) awaitDone(want ...string) {
	q.t.Helper()
	text := strings.Join(want, ", ")
	testenv.Eventually(q.t, func() bool { return strings.Join(q.done(), ", ") == text }, 10*time.Second)
}

func refill(id, bin, sku string) item {
	return item{ID: id, Attempt: 1, Payload: json.RawMessage(`{"title":"Refill","data":{"bin":"` + bin + `","sku":"` + sku + `"}}`)}
}
