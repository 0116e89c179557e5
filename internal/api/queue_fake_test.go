package api_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
)

// fakeQueue keeps the contract of a queue in memory, as far as the API can tell. Every twin is one of these.
type fakeQueue struct {
	mu       sync.Mutex
	items    []*item.Item // in the order of their pushes
	keys     map[string]string
	pause    item.Pause
	settings item.LiveSettings
	replays  map[string]item.Stepped // by worker and request id
	traces   map[string][]item.Move
	changed  chan struct{}
	waiting  chan struct{} // gets a value for each Step that began to wait
	err      error
	steps    []item.Step
	orders   []item.Order
	hasty    bool // nobody waits
}

func newFakeQueue() *fakeQueue {
	return &fakeQueue{
		keys: map[string]string{}, replays: map[string]item.Stepped{}, traces: map[string][]item.Move{}, changed: make(chan struct{}),
		waiting: make(chan struct{}, 1000),
	}
}

// fakeTwins is a queue with its test twin.
type fakeTwins [2]*fakeQueue

func newFakeTwins() *fakeTwins { return &fakeTwins{newFakeQueue(), newFakeQueue()} }

func (t *fakeTwins) of(test bool) *fakeQueue {
	if test {
		return t[1]
	}
	return t[0]
}

// empty clears the twins, for tests that do not wait.
func (t *fakeTwins) empty() {
	*t = *newFakeTwins()
	t[0].hasty, t[1].hasty = true, true
}

// fail makes every call fail from now on.
func (t *fakeTwins) fail(err error) {
	for _, q := range t {
		q.mu.Lock()
		q.err = err
		q.mu.Unlock()
	}
}

func (t *fakeTwins) Push(_ context.Context, test bool, by string, items []item.New) ([]item.PushResult, error) {
	return t.of(test).push(by, items)
}

func (t *fakeTwins) Step(ctx context.Context, s item.Step) (item.Stepped, error) {
	return t.of(s.Test).step(ctx, s)
}

func (t *fakeTwins) Sizes(_ context.Context, test bool, scope item.Scope) (item.Sizes, error) {
	return t.of(test).sizes(scope)
}

func (t *fakeTwins) Workers(context.Context, bool, item.Scope) ([]item.Worker, error) {
	return []item.Worker{{Name: "ann", Leased: 1, Last: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)}, {Name: "bob", Assigned: 2}}, nil
}

func (t *fakeTwins) List(_ context.Context, q item.Query) (item.Page, error) {
	return t.of(q.Test).list(q)
}

func (t *fakeTwins) Get(_ context.Context, test bool, scope item.Scope, id string) (item.TracedItem, error) {
	q := t.of(test)
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.find(scope, id)
	if i == nil || q.err != nil {
		return item.TracedItem{}, either(q.err, delivery.ErrNotFound)
	}
	return item.TracedItem{Item: *i, Trace: slices.Clone(q.traces[id])}, nil
}

func (t *fakeTwins) Rank(_ context.Context, test bool, scope item.Scope, id string) (item.Rank, error) {
	q := t.of(test)
	q.mu.Lock()
	defer q.mu.Unlock()
	for place, i := range q.in(scope, item.Ready) {
		if i.ID == id {
			return item.Rank{ID: id, Place: int64(place) + 1, Score: i.Score()}, q.err
		}
	}
	return item.Rank{}, either(q.err, delivery.ErrNotFound)
}

func (t *fakeTwins) RemoveRange(_ context.Context, b item.Bulk, state item.State, from, to int64) (int, error) {
	q := t.of(b.Test)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.order(b.Order)
	list := q.in(b.Scope, state)
	from, to = min(from-1, int64(len(list))), min(to, int64(len(list)))
	for _, i := range list[from:to] {
		q.move(i, item.Removed, b.By, "")
	}
	return int(to - from), q.err
}

func (t *fakeTwins) RequeueDead(_ context.Context, b item.Bulk) (int, error) {
	q := t.of(b.Test)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.order(b.Order)
	dead := q.in(b.Scope, item.Dead)
	for _, i := range dead {
		q.move(i, item.Ready, b.By, "")
	}
	return len(dead), q.err
}

func (t *fakeTwins) Pause(_ context.Context, test bool, by string, o *item.Order) error {
	return t.of(test).set(item.Pause{Paused: true, By: by}, o)
}

func (t *fakeTwins) Resume(_ context.Context, test bool, by string, o *item.Order) error {
	return t.of(test).set(item.Pause{By: by}, o)
}

func (t *fakeTwins) Settings() item.QueueSettings {
	q := t[0]
	q.mu.Lock()
	defer q.mu.Unlock()
	return item.QueueSettings{
		Configured: item.Settings{Lease: time.Minute, MaxAttempts: 5, SuspendSteps: []time.Duration{2 * time.Hour, 12 * time.Hour}}, Live: q.settings,
	}
}

func (t *fakeTwins) ChangeSettings(_ context.Context, o *item.Order, c item.SettingsChange) error {
	q := t[0]
	q.mu.Lock()
	defer q.mu.Unlock()
	q.order(o)
	c.Set.By, c.Set.At = o.By, sentAt
	if q.err == nil {
		q.settings = c.Apply(q.settings)
	}
	return q.err
}

// order remembers an order; the lock is held.
func (q *fakeQueue) order(o *item.Order) {
	if o != nil {
		q.orders = append(q.orders, *o)
	}
}

// ordered returns the orders so far and forgets them.
func (q *fakeQueue) ordered() []item.Order {
	q.mu.Lock()
	defer q.mu.Unlock()
	orders := q.orders
	q.orders = nil
	return orders
}

func (q *fakeQueue) set(p item.Pause, o *item.Order) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.order(o)
	p.At = time.Now()
	q.pause = p
	q.wake()
	return q.err
}

func either(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func (q *fakeQueue) find(scope item.Scope, id string) *item.Item {
	for _, i := range q.items {
		if i.ID == id && scope.Has(i.Warehouse) {
			return i
		}
	}
	return nil
}

// in returns the items of a state, the ready ones in the order of service.
func (q *fakeQueue) in(scope item.Scope, state item.State) []*item.Item {
	var list []*item.Item
	for _, i := range q.items {
		if i.State == state && scope.Has(i.Warehouse) {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b *item.Item) int { return b.Priority - a.Priority })
	return list
}

func (q *fakeQueue) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

func (q *fakeQueue) move(i *item.Item, to item.State, by, note string) {
	i.Moves++
	q.traces[i.ID] = append(q.traces[i.ID], item.Move{N: i.Moves, At: time.Now(), From: i.State, To: to, Attempt: i.Attempt, By: by, Node: "node-1", Note: note})
	i.State, i.Due, i.Worker = to, time.Time{}, ""
	if to == item.Ready {
		i.Ready = time.Now()
	}
	q.wake()
}

func (q *fakeQueue) push(by string, items []item.New) ([]item.PushResult, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for n, i := range items {
		if len(i.Payload) > item.MaxPayload {
			return nil, &item.InvalidError{Field: "payload", Index: n, Message: fmt.Sprintf("%d bytes", len(i.Payload))}
		}
	}
	if q.err != nil {
		return nil, q.err
	}
	results := make([]item.PushResult, len(items))
	for n, i := range items {
		results[n] = q.pushOne(by, i)
	}
	return results, nil
}

func (q *fakeQueue) pushOne(by string, n item.New) item.PushResult {
	id := n.ID
	if id == "" {
		id = fmt.Sprintf("i_%d", len(q.items)+1)
	}
	if known := q.find(nil, id); known != nil && known.Warehouse != n.Warehouse {
		return item.PushResult{ID: id, Outcome: item.IDTaken}
	} else if known != nil {
		return item.PushResult{ID: id, Outcome: item.Exists}
	}
	if of, held := q.keys[n.DedupeKey]; held {
		return item.PushResult{ID: id, Outcome: item.Duplicate, Of: of}
	}
	if n.DedupeKey != "" {
		q.keys[n.DedupeKey] = id
	}
	i := &item.Item{ID: id, Warehouse: n.Warehouse, Priority: n.Priority, Payload: n.Payload, Created: time.Now(), State: item.Ready, Ready: time.Now()}
	if n.Delay > 0 {
		i.State, i.Due, i.Ready = item.Delayed, time.Now().Add(n.Delay), time.Time{}
	}
	q.items = append(q.items, i)
	q.traces[id] = []item.Move{{At: time.Now(), To: i.State, By: by, Node: "node-1"}}
	q.wake()
	return item.PushResult{ID: id, Outcome: item.Pushed}
}

func (q *fakeQueue) sizes(scope item.Scope) (item.Sizes, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := item.Sizes{
		Pause: q.pause, Recent: item.Recent{Span: 5*time.Minute + time.Since(time.Now().Truncate(10*time.Second))}, // As sinks/queue/scripts/sizes.lua.
	}
	for i, warehouse := range q.warehouses() {
		only := item.Scope{warehouse}
		if warehouse == "" {
			only = nil // a test has items of warehouses, or of none
		}
		n := func(state item.State) int64 { return int64(len(q.in(only, state))) }
		d := item.Depth{
			Warehouse: warehouse, Ready: n(item.Ready), Leased: n(item.Leased), Delayed: n(item.Delayed), Suspended: n(item.Suspended),
			Stored: n(item.Stored), Dead: n(item.Dead),
		}
		if i == 0 {
			d.Recent = item.Recent{Pushed: 40, Done: 30, Failed: 2, Dead: 1}
		}
		for p := item.HighestPriority; p >= item.LowestPriority; p-- {
			l := item.Level{Priority: p}
			for _, i := range q.in(only, item.Ready) {
				if i.Priority == p {
					l.Ready++
					l.Oldest = i.Ready
				}
			}
			d.Levels = append(d.Levels, l)
		}
		s.Warehouses = append(s.Warehouses, d)
	}
	return s.Of(scope), q.err
}

// warehouses returns the warehouses that have items. Without any, it returns the one for items without a warehouse.
func (q *fakeQueue) warehouses() []string {
	var names []string
	for _, i := range q.items {
		names = append(names, i.Warehouse)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return []string{""}
	}
	return names
}

func (q *fakeQueue) list(query item.Query) (item.Page, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if query.After != "" && query.After != "next" {
		return item.Page{}, &item.InvalidError{Field: "after", Index: -1, Message: "never heard of it"}
	}
	if query.State == item.Refused {
		return item.Page{}, &item.InvalidError{Field: "state", Index: -1, Message: "there is no ledger"}
	}
	var page item.Page
	list := q.in(query.Scope, query.State)
	if query.After == "next" {
		list = list[min(query.Limit, len(list)):]
	}
	for _, i := range list[:min(query.Limit, len(list))] {
		page.Items = append(page.Items, *i)
	}
	if len(list) > query.Limit {
		page.Cursor = "next"
	}
	return page, q.err
}
