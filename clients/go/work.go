package tallyman

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"tallyman/clients/go/api"
)

// farewell is how long after a stop the worker tries to report outcomes to the queue.
const farewell = 10 * time.Second

// work is one run of Work.
type work struct {
	Queue

	stop   context.Context //nolint:containedctx // ends when nothing more is to be begun
	ctx    context.Context //nolint:containedctx // of handlers: ends when Grace is over
	cancel context.CancelCauseFunc
	handle func(context.Context, Item) error
	room   chan struct{}  // Has an element for each leased item.
	ready  chan *heldItem // Items that wait for a handler.

	mu  sync.Mutex
	all map[*heldItem]bool
}

func (w *work) run() error {
	defer w.cancel(nil)
	var handlers, extending sync.WaitGroup
	for range w.Concurrency {
		handlers.Go(w.handleAll)
	}
	over, end := context.WithCancel(w.ctx)
	extending.Go(func() { w.extendAll(over) })
	err := w.leaseAll()
	if w.Grace > 0 {
		late := time.AfterFunc(w.Grace, func() { w.cancel(ErrStopping) })
		defer late.Stop()
	}
	close(w.ready)
	handlers.Wait()
	end()
	extending.Wait()
	return err
}

// leaseAll leases items while there is room, until the stop or a refusal of the service.
func (w *work) leaseAll() error {
	for {
		n := w.takeRoom()
		if n == 0 {
			return nil
		}
		items, err := w.lease(n)
		for range n - len(items) {
			<-w.room
		}
		for _, it := range items {
			w.ready <- w.hold(it)
		}
		if err != nil {
			return err
		}
	}
}

// takeRoom waits until there is room for an item, and takes all the room. takeRoom returns 0 after the stop.
func (w *work) takeRoom() (n int) {
	select {
	case w.room <- struct{}{}:
		n++
	case <-w.stop.Done():
		return 0
	}
	for n < cap(w.room) {
		select {
		case w.room <- struct{}{}:
			n++
			continue
		default:
		}
		break
	}
	if w.stop.Err() != nil {
		for range n {
			<-w.room
		}
		return 0
	}
	return n
}

// lease leases items, and waits for them. A request whose answer was lost is repeated under its id, and gets the same
// items. A request that the stop has cut off is repeated, too; its items go through ready and back to the queue.
func (w *work) lease(most int) ([]Item, error) {
	id, n, tries := rand.Text(), int64(most), 0
	body := api.Step{Worker: &w.Worker, RequestId: &id, Max: &n, Lease: seconds(w.Lease), Wait: seconds(wait)}
	if w.Test {
		body.Test = &w.Test
	}
	var answer stepAnswer
	try := func(waits time.Duration) func(context.Context) error {
		return func(ctx context.Context) (err error) {
			tries++
			answer, err = w.Client.step(ctx, w.Name, body, waits)
			return err
		}
	}
	err := insist(w.stop, w.warn("lease items"), try(wait))
	if err != nil && w.stop.Err() != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.stop), farewell)
		defer cancel()
		none := int64(0)
		body.Max, body.Wait = &none, nil
		if err := insist(ctx, w.warn("fetch the items of the last lease"), try(0)); err != nil {
			w.Logger.Warn("Items of the last lease, if any, come back to the queue when their leases end.", "queue", w.Name, "error", err)
		}
		return answer.Items, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lease items of %s: %w", w.Name, err)
	}
	if tries > 1 {
		return w.stillLeased(answer.Items), nil
	}
	return answer.Items, nil
}

// stillLeased extends the leases of items that an earlier attempt may have leased long ago, and leaves out items whose
// leases are lost.
func (w *work) stillLeased(items []Item) []Item {
	if len(items) == 0 {
		return nil
	}
	list := make([]*heldItem, len(items))
	for i := range items {
		list[i] = &heldItem{Item: items[i]}
	}
	ctx, cancel := context.WithTimeout(w.ctx, w.Lease)
	defer cancel()
	lost := map[string]bool{}
	answer, err := w.extend(ctx, list)
	if err != nil {
		w.Logger.Warn("Leases could not be extended. The items come back to the queue when their leases end.", "queue", w.Name, "error", err)
		return nil
	}
	for _, r := range answer {
		lost[r.Id] = r.Outcome != api.ResultOutcomeOk
	}
	var still []Item
	for _, it := range items {
		if !lost[it.Id] {
			still = append(still, it)
		}
	}
	return still
}

// handleAll handles one item after the other. After the stop, handleAll gives back items that were not begun.
func (w *work) handleAll() {
	for h := range w.ready {
		switch {
		case h.isLost(), errors.Is(context.Cause(h.ctx), ErrLeaseLost):
			w.Logger.Warn("Lease of an item was lost before the handler began.", "queue", w.Name, "item", h.Id)
		case w.stop.Err() != nil:
			w.settle(h, opOf(GiveBack("the worker stops")))
		default:
			w.work(h)
		}
		w.drop(h)
		<-w.room
	}
}

// work calls the handler for an item and reports the outcome to the queue.
func (w *work) work(h *heldItem) {
	err := w.call(h)
	if h.isLost() {
		w.Logger.Warn("Lease of an item was lost while the handler worked. Another worker may have the item.", "queue", w.Name, "item", h.Id, "handler_error", err)
		return
	}
	if cause := context.Cause(h.ctx); cause != nil && errors.Is(err, h.ctx.Err()) {
		err = GiveBack(cause.Error())
	}
	w.settle(h, opOf(err))
}

// call calls the handler. call turns a panic into an error, because the other items of the process must go on.
func (w *work) call(h *heldItem) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the handler panicked: %v", r)
			w.Logger.Error("Handler of an item panicked. The item has failed.", "queue", w.Name, "item", h.Id, "panic", r)
		}
	}()
	return w.handle(h.ctx, h.Item)
}

// settle reports the outcome of an item until the queue answers. After a stop, settle tries for as long as farewell.
func (w *work) settle(h *heldItem, op api.Op) {
	op.Id, op.Attempt = h.Id, &h.Attempt
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.stop))
	defer cancel()
	defer context.AfterFunc(w.stop, func() { time.AfterFunc(farewell, cancel) })()
	tries := 0
	var answer stepAnswer
	err := insist(ctx, w.warn("report the outcome of an item"), func(ctx context.Context) (err error) {
		tries++
		answer, err = w.Client.step(ctx, w.Name, w.ops([]api.Op{op}), 0)
		return err
	})
	if err != nil {
		w.Logger.Warn("Outcome of an item was not reported. The item comes back to the queue when its lease ends.", "queue", w.Name, "item", h.Id, "op", op.Op, "error", err)
		return
	}
	switch outcome := answer.Results[0].Outcome; {
	case outcome == api.ResultOutcomeOk:
	case outcome == api.ResultOutcomeSuspendLimit:
		note := "the item cannot be suspended again"
		if op.Note != nil {
			note += ": " + *op.Note
		}
		w.settle(h, opOf(errors.New(note)))
	case outcome == api.ResultOutcomeLeaseLost && tries > 1:
		w.Logger.Info("Item no longer belongs to this worker: an earlier attempt reported the outcome, or the lease was lost.", "queue", w.Name, "item", h.Id, "op", op.Op)
	default:
		w.Logger.Warn("Queue refused the outcome of an item. Nothing was changed.", "queue", w.Name, "item", h.Id, "op", op.Op, "outcome", outcome)
	}
}

// ops returns a request with operations. The request has no request id, because the worker's last request id must stay
// the id of its lease request.
func (w *work) ops(list []api.Op) api.Step {
	body := api.Step{Worker: &w.Worker, Ops: &list}
	if w.Test {
		body.Test = &w.Test
	}
	return body
}

func (w *work) warn(what string) func(error, time.Duration) {
	return func(err error, pause time.Duration) {
		w.Logger.Warn("Request failed and is repeated.", "request", what, "queue", w.Name, "error", err, "next_try_in", pause)
	}
}

// clean makes a valid note: no control characters except line breaks and tabs, and not too long.
func clean(note string) string {
	note = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, note)
	if len(note) > noteBytes {
		note = note[:noteBytes]
	}
	return strings.ToValidUTF8(note, "")
}
