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
	wait     = 20 * time.Second // one request for work, while there is none
	farewell = 10 * time.Second // to tell the queue what became of its items, once a stop has come
)

// worker takes items, a batch at a time, and works through them one after the other.
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

// take waits for items. When a stop cuts the request off, items may be on their way to us: the same request id, now
// for no item, answers with those. They are given back like all that was not begun.
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
		return nil, nil // the queue is out of reach: what it gave us comes back to it when the lease ends
	}
	return answer.Items, err
}

// workThrough works on one item after the other, while the leases of all are renewed. When a stop comes, the item in hand is
// finished and the others go back to the head of the queue.
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

// report tells the queue what became of an item.
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

// renew extends the leases of what the worker still has, well before they end.
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
		// No request id: the last one of this worker belongs to its other requests, and extending twice does no harm.
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

// giveBack releases what was not begun.
func (w *worker) giveBack(ctx context.Context, mine *heldItems) error {
	ops := mine.ops("release", "")
	_, err := w.queue.step(ctx, step{RequestID: newRequestID(), Ops: ops})
	if err != nil {
		return fmt.Errorf("give back %d items, which come back by themselves when their leases end: %w", len(ops), err)
	}
	w.say("gave back %d", len(ops))
	return nil
}

// say tells a line, with the worker's name.
func (w *worker) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = fmt.Fprintf(w.out, "%s %s: %s\n", time.Now().Format("15:04:05"), w.queue.name, fmt.Sprintf(format, args...))
}

// heldItems are the items that the worker has, in their order. It is safe for concurrent use.
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

// ops is the operation on each of them.
func (h *heldItems) ops(kind, lease string) []op {
	h.mu.Lock()
	defer h.mu.Unlock()
	ops := make([]op, len(h.items))
	for i, it := range h.items {
		ops[i] = op{Op: kind, ID: it.ID, Attempt: it.Attempt, Lease: lease}
	}
	return ops
}
