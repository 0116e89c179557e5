package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	wait     = 20 * time.Second // how long a request for work waits while there is none
	farewell = 10 * time.Second // after a stop: how long the worker may take to report its items
)

// worker takes items in batches, and works on them one after the other.
type worker struct {
	queue *client
	floor floor
	batch int
	lease time.Duration

	mu  sync.Mutex
	out io.Writer
}

// run works until stop ends.
func (w *worker) run(stop context.Context) error {
	for stop.Err() == nil {
		items, err := w.take(stop)
		if err != nil {
			return fmt.Errorf("take work: %w", err)
		}
		if len(items) == 0 {
			continue
		}
		if err := w.workThrough(stop, items); err != nil {
			return err
		}
	}
	w.say("has stopped")
	return nil
}

// take waits for items. Where a stop interrupts the request, the server may already have leased items to this worker. A
// second request with the same id, which asks for no more items, returns these items. The worker then gives them back.
func (w *worker) take(stop context.Context) ([]item, error) {
	request := step{RequestID: newRequestID(), Max: w.batch, Lease: seconds(w.lease), Wait: seconds(wait)}
	answer, err := w.queue.step(stop, request)
	if stop.Err() == nil || err == nil {
		return answer.Items, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(stop), farewell)
	defer cancel()
	request.Max, request.Wait = 0, ""
	answer, err = w.queue.step(ctx, request)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, nil // the queue is out of reach; its items become ready again when their leases end
	}
	return answer.Items, err
}

// workThrough works on one item after the other, and renews the leases of all items meanwhile. After a stop it finishes
// the present item and gives the others back. These items return to their places in the queue.
func (w *worker) workThrough(stop context.Context, items []item) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(stop))
	defer context.AfterFunc(stop, func() { time.AfterFunc(w.floor.takes+farewell, cancel) })()
	mine := newHeldItems(items)
	var renewing sync.WaitGroup
	renewing.Go(func() { w.renew(ctx, mine) })
	defer renewing.Wait()
	defer cancel()
	for _, it := range items {
		if stop.Err() != nil {
			return w.giveBack(ctx, mine)
		}
		if !mine.has(it.ID) {
			w.say("lost %s before it was begun: another worker has it", it.ID)
			continue
		}
		o, done := w.floor.work(ctx, it)
		if err := w.report(ctx, o, done); err != nil {
			return err
		}
		mine.drop(it.ID)
	}
	return nil
}

// report sends the operation that ends the work on an item.
func (w *worker) report(ctx context.Context, o order, done op) error {
	for {
		answer, err := w.queue.step(ctx, step{RequestID: newRequestID(), Ops: []op{done}})
		if err != nil {
			return fmt.Errorf("%s %s: %w", done.Op, done.ID, err)
		}
		outcome := answer.Results[0].Outcome
		if outcome == "ok" {
			w.say("%-7s %s  %s%s", done.Op, done.ID, o, because(done.Note))
			return nil
		}
		next, again := instead(done, outcome)
		if !again {
			w.say("%s: %s of %s (%s)", outcome, done.Op, done.ID, o)
			return nil
		}
		done = next
	}
}

func because(note string) string {
	if note == "" {
		return ""
	}
	return ": " + note
}

// renew extends the leases of all items that the worker still has, long before the leases end.
func (w *worker) renew(ctx context.Context, mine *heldItems) {
	tick := time.NewTicker(w.lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		ops := mine.ops("extend", seconds(w.lease))
		if len(ops) == 0 {
			continue
		}
		// No request id: the server keeps only the last id of a worker, and the other requests need it. Extending twice
		// does no harm.
		answer, err := w.queue.step(ctx, step{Ops: ops})
		if err != nil {
			if ctx.Err() == nil {
				w.say("could not renew: %v", err)
			}
			return
		}
		for _, r := range answer.Results {
			if r.Outcome != "ok" {
				mine.drop(r.ID)
			}
		}
	}
}

// giveBack releases all items on which no work has begun.
func (w *worker) giveBack(ctx context.Context, mine *heldItems) error {
	ops := mine.ops("release", "")
	_, err := w.queue.step(ctx, step{RequestID: newRequestID(), Ops: ops})
	if err != nil {
		return fmt.Errorf("give back %d items, which come back by themselves when their leases end: %w", len(ops), err)
	}
	w.say("gave back %d", len(ops))
	return nil
}

// say prints a line with the time and the worker's name.
func (w *worker) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = fmt.Fprintf(w.out, "%s %s: %s\n", time.Now().Format("15:04:05"), w.queue.name, fmt.Sprintf(format, args...))
}

// heldItems are the items that the worker has leased, in their order. It is safe for concurrent use.
type heldItems struct {
	mu    sync.Mutex
	items []item
}

func newHeldItems(items []item) *heldItems { return &heldItems{items: append([]item(nil), items...)} }

func (h *heldItems) has(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.find(id) >= 0
}

func (h *heldItems) drop(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := h.find(id); i >= 0 {
		h.items = append(h.items[:i:i], h.items[i+1:]...)
	}
}

func (h *heldItems) find(id string) int {
	for i := range h.items {
		if h.items[i].ID == id {
			return i
		}
	}
	return -1
}

// ops returns an operation on each item.
func (h *heldItems) ops(kind, lease string) []op {
	h.mu.Lock()
	defer h.mu.Unlock()
	ops := make([]op, len(h.items))
	for i, it := range h.items {
		ops[i] = op{Op: kind, ID: it.ID, Attempt: it.Attempt, Lease: lease}
	}
	return ops
}
