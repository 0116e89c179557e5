package tallyman_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tallyman "tallyman/clients/go"
	"tallyman/clients/go/api"
)

// fakeQueue leases items and records their outcomes.
type fakeQueue struct {
	mu      sync.Mutex
	ready   []string
	reports []string // "<op> <id>", without extensions of leases
	extent  map[string]int
	lost    string // the item whose extension is refused
	broken  int    // answers to operations that are lost
	leased  map[string][]string
}

func (q *fakeQueue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var step api.Step
	if err := json.NewDecoder(r.Body).Decode(&step); err != nil || r.URL.Path != "/api/v1/queues/replenishment/step" {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	q.mu.Lock()
	answer := map[string][]map[string]any{"results": {}, "items": {}}
	if step.Ops != nil {
		for _, op := range *step.Ops {
			outcome := "ok"
			if op.Op == api.OpOpExtend {
				q.extent[op.Id]++
				if op.Id == q.lost {
					outcome = "lease_lost"
				}
			} else {
				q.reports = append(q.reports, string(op.Op)+" "+op.Id)
				if q.broken > 0 {
					q.broken--
					q.mu.Unlock()
					panic(http.ErrAbortHandler)
				}
			}
			answer["results"] = append(answer["results"], map[string]any{"op": op.Op, "id": op.Id, "outcome": outcome})
		}
	}
	if step.RequestId != nil {
		given, known := q.leased[*step.RequestId]
		if !known && *step.Max > 0 {
			n := min(len(q.ready), int(*step.Max))
			given, q.ready = q.ready[:n], q.ready[n:]
			if n > 0 {
				q.leased[*step.RequestId] = given
			}
		}
		for _, id := range given {
			answer["items"] = append(answer["items"], map[string]any{"id": id, "attempt": 1, "payload": map[string]any{"n": 1}})
		}
	}
	q.mu.Unlock()
	if step.Wait != nil && len(answer["items"]) == 0 {
		select {
		case <-r.Context().Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	_ = json.NewEncoder(w).Encode(answer) //nolint:errchkjson // answers of the tests
}

func (q *fakeQueue) reported() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Sorted(slices.Values(q.reports))
}

func (q *fakeQueue) extensions(id string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.extent[id]
}

func newQueue(t *testing.T, fake *fakeQueue) *tallyman.Queue {
	t.Helper()
	fake.extent, fake.leased = map[string]int{}, map[string][]string{}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	client, err := tallyman.New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &tallyman.Queue{Client: client, Name: "replenishment", Worker: "packer-7", Lease: 3 * time.Second}
}

// The error of a handler decides the outcome of the item, also when answers are lost.
func TestWorkTellsWhatBecameOfItems(t *testing.T) {
	t.Parallel()
	fake := &fakeQueue{ready: []string{"done", "error", "panic", "back", "suspend", "store", "pass", "later"}, broken: 2}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err := newQueue(t, fake).Work(ctx, func(_ context.Context, it tallyman.Item) error {
		switch it.Id {
		case "error":
			return errors.New("no bin\x00")
		case "panic":
			panic("no bin")
		case "back":
			return tallyman.GiveBack("closed")
		case "suspend":
			return fmt.Errorf("look: %w", tallyman.Suspend("no stock"))
		case "store":
			return tallyman.StoreFor(time.Hour, "closed")
		case "pass":
			return tallyman.PassTo("ben", "heavy")
		case "later":
			stop()
			return tallyman.FailAfter(time.Minute, "busy")
		}
		return nil
	})
	reports := slices.Compact(fake.reported())
	want := []string{"ack done", "assign pass", "nack error", "nack later", "nack panic", "release back", "store store", "suspend suspend"}
	if err != nil || !slices.Equal(reports, want) {
		t.Errorf("%v, reports %q", err, reports)
	}
}

// A stop lets the handler finish, extends its lease until then, and gives back items that were not begun.
func TestWorkDrainsOnStop(t *testing.T) {
	t.Parallel()
	fake := &fakeQueue{ready: []string{"one", "two", "three"}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	queue := newQueue(t, fake)
	queue.Prefetch = 2
	err := queue.Work(ctx, func(ctx context.Context, _ tallyman.Item) error {
		stop()
		for fake.extensions("one") < 2 {
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				t.Errorf("the context of the handler ends: %v", context.Cause(ctx))
				return nil
			}
		}
		return nil
	})
	if reports := fake.reported(); err != nil || !slices.Equal(reports, []string{"ack one", "release three", "release two"}) {
		t.Errorf("%v, reports %q", err, reports)
	}
}

// After the stop and Grace, the handler's item and the items that were not begun go back to the queue.
func TestWorkGivesBackAfterGrace(t *testing.T) {
	t.Parallel()
	fake := &fakeQueue{ready: []string{"one", "two", "three"}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	queue := newQueue(t, fake)
	queue.Prefetch, queue.Grace = 2, time.Millisecond
	err := queue.Work(ctx, func(ctx context.Context, _ tallyman.Item) error {
		stop()
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), tallyman.ErrStopping) {
			t.Errorf("ended with %v", context.Cause(ctx))
		}
		return ctx.Err()
	})
	if reports := fake.reported(); err != nil || !slices.Equal(reports, []string{"release one", "release three", "release two"}) {
		t.Errorf("%v, reports %q", err, reports)
	}
}

// The handler of an item whose lease is lost learns of that, and the worker reports no outcome.
func TestWorkEndsTheHandlerOfALostItem(t *testing.T) {
	t.Parallel()
	fake := &fakeQueue{ready: []string{"one"}, lost: "one"}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err := newQueue(t, fake).Work(ctx, func(ctx context.Context, _ tallyman.Item) error {
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), tallyman.ErrLeaseLost) {
			t.Errorf("ended with %v", context.Cause(ctx))
		}
		stop()
		return ctx.Err()
	})
	if reports := strings.Join(fake.reported(), ","); err != nil || reports != "" {
		t.Errorf("%v, reports %q", err, reports)
	}
}
