package queue

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
)

// memoryLedger is what queues need of the ledger, in memory. Items and their moves are kept as the ledger's suite asks for.
type memoryLedger struct {
	mu     sync.Mutex
	states map[string]*delivery.IndexState // by sink
	queues map[string]*memoryQueue
	seq    int64
	begun  int // epochs

	changes []item.Change // the records of orders
	down    error         // what everything answers, while it is set
}

type memoryQueue struct {
	items    map[int64]*memoryItem
	byID     map[string]int64
	pushed   []int64 // ascending
	epoch    string  // of position
	position int64
	applied  int // calls of ApplyMoves that changed something
	pause    item.Pause
	settings item.LiveSettings
	withheld map[int64]int64 // seq → moves
}

type memoryItem struct {
	item.Record
	trace []item.Move
}

var _ Ledger = (*memoryLedger)(nil)

func newMemoryLedger() *memoryLedger {
	return &memoryLedger{states: map[string]*delivery.IndexState{}, queues: map[string]*memoryQueue{}}
}

// enter locks, and makes the queue known.
func (l *memoryLedger) enter(queue string) (*memoryQueue, func(), error) {
	l.mu.Lock()
	q := l.queues[queue]
	if q == nil {
		q = &memoryQueue{items: map[int64]*memoryItem{}, byID: map[string]int64{}}
		l.queues[queue] = q
	}
	return q, l.mu.Unlock, l.down
}

// fail has everything answer with the error; nil ends that.
func (l *memoryLedger) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = err
}

func (l *memoryLedger) IndexState(_ context.Context, sink string) (delivery.IndexState, error) {
	_, leave, err := l.enter(sink)
	defer leave()
	if err != nil {
		return delivery.IndexState{}, err
	}
	if s := l.states[sink]; s != nil {
		return *s, nil
	}
	return delivery.IndexState{}, delivery.ErrNotFound
}

func (l *memoryLedger) BeginEpoch(_ context.Context, sink, prev string, next delivery.IndexState, node string, lease time.Duration) error {
	_, leave, err := l.enter(sink)
	defer leave()
	if err != nil {
		return err
	}
	if s := l.states[sink]; s == nil && prev != "" || s != nil && s.Epoch != prev {
		return delivery.ErrFenced
	}
	if prev != next.Epoch {
		l.begun++
	}
	next.Building, next.Node, next.Lease = true, node, time.Now().Add(lease)
	l.states[sink] = &next
	return nil
}

func (l *memoryLedger) FinishEpoch(_ context.Context, sink, epoch string) error {
	_, leave, err := l.enter(sink)
	defer leave()
	if err != nil {
		return err
	}
	if s := l.states[sink]; s == nil || s.Epoch != epoch {
		return delivery.ErrFenced
	}
	l.states[sink].Building = false
	return nil
}

func (l *memoryLedger) PushItems(_ context.Context, queue string, items []item.Record) ([]item.PushAnswer, error) {
	q, leave, err := l.enter(queue)
	defer leave()
	if err != nil {
		return nil, err
	}
	known := make([]item.PushAnswer, len(items))
	for i, r := range items {
		if seq, ok := q.byID[r.ID]; ok {
			known[i] = item.PushAnswer{Seq: seq, State: q.items[seq].State, Warehouse: q.items[seq].Warehouse}
			continue
		}
		l.seq++
		r.Seq = l.seq
		r.Payload = slices.Clone(r.Payload)
		first := item.Move{Seq: r.Seq, At: r.Created, To: r.State, Due: r.Due, Assignee: r.Assignee, By: r.By, Node: r.Node}
		q.items[r.Seq], q.byID[r.ID] = &memoryItem{Record: r, trace: []item.Move{first}}, r.Seq
		q.pushed = append(q.pushed, r.Seq)
		known[i] = item.PushAnswer{Seq: r.Seq, New: true, State: r.State, Warehouse: r.Warehouse}
	}
	return known, nil
}

func (l *memoryLedger) RefuseItems(_ context.Context, queue string, refused []item.Refusal) error {
	q, leave, err := l.enter(queue)
	defer leave()
	if err != nil {
		return err
	}
	for _, r := range refused {
		if i := q.items[r.Seq]; i != nil && !i.State.Ended() {
			i.trace = append(i.trace, item.Move{Seq: r.Seq, N: i.Moves + 1, At: r.At, From: i.State, To: item.Refused, Node: r.Node, Note: r.Of})
			i.State = item.Refused
		}
	}
	return nil
}

func (l *memoryLedger) ApplyMoves(_ context.Context, queue, epoch string, entries []item.Moves) error {
	q, leave, err := l.enter(queue)
	defer leave()
	if err != nil {
		return err
	}
	if s := l.states[sinkOf(queue)]; s == nil || s.Epoch != epoch {
		return delivery.ErrFenced
	}
	if q.epoch != epoch {
		q.epoch, q.position = epoch, 0
	}
	for _, entry := range entries {
		if entry.Position <= q.position {
			continue
		}
		q.position = entry.Position
		q.applied++
		l.changes = append(l.changes, entry.Changes...)
		for _, m := range entry.List {
			q.items[m.Seq].apply(m)
		}
	}
	return nil
}

// apply keeps a move, and what it changes if it is later than the last one.
func (i *memoryItem) apply(m item.Move) {
	if i == nil {
		return // no such item: it was pruned
	}
	i.trace = append(i.trace, m)
	if m.N <= i.Moves || i.State.Ended() {
		return
	}
	i.State, i.Moves, i.Attempt, i.Failures, i.Suspends = m.To, m.N, m.Attempt, m.Failures, m.Suspends
	i.Due, i.Assignee = m.Due, m.Assignee
}

// sinkOf is the sink that has the epochs of a queue.
func sinkOf(queue string) string {
	const twin = ":test"
	if n := len(queue) - len(twin); n > 0 && queue[n:] == twin {
		return queue[:n]
	}
	return queue
}

func (l *memoryLedger) AppliedMoves(_ context.Context, queue, epoch string) (int64, error) {
	q, leave, err := l.enter(queue)
	defer leave()
	if err != nil || q.epoch != epoch {
		return 0, err
	}
	return q.position, nil
}

func (l *memoryLedger) UnfinishedItems(_ context.Context, queue string, after int64, limit int) ([]item.Record, error) {
	q, leave, err := l.enter(queue)
	defer leave()
	var out []item.Record
	at, _ := slices.BinarySearch(q.pushed, after+1)
	for _, seq := range q.pushed[at:] {
		if i := q.items[seq]; !i.State.Ended() && len(out) < limit {
			out = append(out, i.Record)
		}
	}
	return out, err
}

func (l *memoryLedger) HeldKeys(_ context.Context, queue string, now time.Time, after int64, limit int) ([]item.HeldKey, error) {
	q, leave, err := l.enter(queue)
	defer leave()
	var out []item.HeldKey
	for _, seq := range q.pushed {
		if i := q.items[seq]; seq > after && i.State == item.Done && i.Until.After(now) && len(out) < limit {
			out = append(out, item.HeldKey{Seq: seq, ID: i.ID, Bucket: i.Bucket, Until: i.Until})
		}
	}
	return out, err
}

func (l *memoryLedger) SubjectItems(_ context.Context, queue string, subjects []string) ([][]string, error) {
	q, leave, err := l.enter(queue)
	defer leave()
	out := make([][]string, len(subjects))
	for of, subject := range subjects {
		for _, seq := range q.pushed {
			if i := q.items[seq]; i.Subject == subject && !i.State.Ended() {
				out[of] = append(out[of], i.ID)
			}
		}
	}
	return out, err
}

func (l *memoryLedger) ItemTrace(_ context.Context, queue, id string) (item.Record, []item.Move, error) {
	q, leave, err := l.enter(queue)
	defer leave()
	i := q.items[q.byID[id]]
	if err == nil && i == nil {
		err = delivery.ErrNotFound
	}
	if err != nil {
		return item.Record{}, nil, err
	}
	trace := slices.Clone(i.trace)
	slices.SortStableFunc(trace, func(a, b item.Move) int { return cmp.Or(cmp.Compare(a.N, b.N), a.At.Compare(b.At)) })
	return i.Record, trace, nil
}

func (l *memoryLedger) EndedItems(
	_ context.Context, queue string, state item.State, scope item.Scope, before int64, limit int,
) (out []item.Record, next int64, err error) {
	q, leave, err := l.enter(queue)
	defer leave()
	for _, seq := range slices.Backward(q.pushed) {
		if i := q.items[seq]; i.State == state && (before == 0 || seq < before) && scope.Has(i.Warehouse) {
			if len(out) == limit {
				return out, out[limit-1].Seq, err
			}
			out = append(out, i.Record)
		}
	}
	return out, 0, err
}

func (l *memoryLedger) KeyItems(
	_ context.Context, queue, key string, scope item.Scope, before int64, limit int,
) (out []item.Record, next int64, err error) {
	q, leave, err := l.enter(queue)
	defer leave()
	for _, seq := range slices.Backward(q.pushed) {
		if i := q.items[seq]; i.DedupeKey == key && (before == 0 || seq < before) && scope.Has(i.Warehouse) {
			if len(out) == limit {
				return out, out[limit-1].Seq, err
			}
			out = append(out, i.Record)
		}
	}
	return out, 0, err
}

func (l *memoryLedger) LastLeases(_ context.Context, queue string, scope item.Scope) (map[string]time.Time, error) {
	q, leave, err := l.enter(queue)
	defer leave()
	last := map[string]time.Time{}
	for _, i := range q.items {
		for _, m := range i.trace {
			if m.To == item.Leased && scope.Has(i.Warehouse) && m.At.After(last[m.By]) {
				last[m.By] = m.At
			}
		}
	}
	return last, err
}

func (l *memoryLedger) QueuePause(_ context.Context, queue string) (item.Pause, error) {
	q, leave, err := l.enter(queue)
	defer leave()
	return q.pause, err
}

func (l *memoryLedger) SetQueuePause(_ context.Context, o *item.Order, queue string, p item.Pause) error {
	q, leave, err := l.enter(queue)
	defer leave()
	if err == nil {
		q.pause = p
		l.changes = append(l.changes, item.Change{Order: *o, At: p.At})
	}
	return err
}

func (l *memoryLedger) QueueSettings(_ context.Context, queue string) (item.LiveSettings, error) {
	q, leave, err := l.enter(queue)
	defer leave()
	return q.settings, err
}

func (l *memoryLedger) ChangeQueueSettings(_ context.Context, o *item.Order, queue string, c item.SettingsChange) error {
	q, leave, err := l.enter(queue)
	defer leave()
	if err == nil {
		q.settings = c.Apply(q.settings)
		l.changes = append(l.changes, item.Change{Order: *o, At: c.Set.At})
	}
	return err
}

// epochs is how many were begun.
func (l *memoryLedger) epochs() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun
}

// state is how the ledger has an item of the queue; "" = it does not.
func (l *memoryLedger) state(id string) item.State {
	q, leave, _ := l.enter(queueName)
	defer leave()
	if i := q.items[q.byID[id]]; i != nil {
		return i.State
	}
	return ""
}
