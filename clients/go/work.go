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

// farewell is how long after a stop the worker tries to tell the queue what became of an item.
const farewell = 10 * time.Second

// work is one run of Work.
type work struct {
	Queue

	stop   context.Context //nolint:containedctx // ends when nothing more is to be begun
	ctx    context.Context //nolint:containedctx // of handlers: ends when Grace is over
	cancel context.CancelCauseFunc
	handle func(context.Context, Item) error
	room   chan struct{} // has an element for each item that is held
	ready  chan *held    // that wait for a handler

	mu  sync.Mutex
	all map[*held]bool
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

// leaseAll leases items as there is room for them, until the stop or a refusal.
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

// takeRoom waits until there is room for an item, and takes all that there is. It is 0 after the stop.
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

// lease asks for items and waits for them. A request whose answer was lost is repeated under its id, and answered with the same items. That
// holds for one that the stop has cut off, too: what it has leased is given back by whoever takes it from ready.
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
		if err := insist(ctx, w.warn("ask for the items leased last"), try(0)); err != nil {
			w.Logger.Warn("items that were leased last, if any, come back to the queue when their leases end", "queue", w.Name, "error", err)
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

// stillLeased extends the leases of items that an earlier try may have leased long ago, and leaves out what is lost.
func (w *work) stillLeased(items []Item) []Item {
	if len(items) == 0 {
		return nil
	}
	list := make([]*held, len(items))
	for i := range items {
		list[i] = &held{Item: items[i]}
	}
	ctx, cancel := context.WithTimeout(w.ctx, w.Lease)
	defer cancel()
	lost := map[string]bool{}
	answer, err := w.extend(ctx, list)
	if err != nil {
		w.Logger.Warn("leases could not be extended; their items come back to the queue", "queue", w.Name, "error", err)
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

// handleAll handles one item after the other. After the stop it gives back what was not begun.
func (w *work) handleAll() {
	for h := range w.ready {
		switch {
		case h.ctx.Err() != nil:
			w.Logger.Warn("an item was lost before it was begun", "queue", w.Name, "item", h.Id)
		case w.stop.Err() != nil:
			w.settle(h, opOf(GiveBack("the worker stops")))
		default:
			w.work(h)
		}
		w.drop(h)
		<-w.room
	}
}

// work has an item handled and tells the queue what became of it.
func (w *work) work(h *held) {
	err := w.call(h)
	if h.isLost() {
		w.Logger.Warn("the lease of an item was lost while it was handled; another worker may have it", "queue", w.Name, "item", h.Id, "handler_error", err)
		return
	}
	if cause := context.Cause(h.ctx); cause != nil && errors.Is(err, h.ctx.Err()) {
		err = GiveBack(cause.Error())
	}
	w.settle(h, opOf(err))
}

// call makes an error of a panic, as the other items of the process go on.
func (w *work) call(h *held) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the handler panics: %v", r)
			w.Logger.Error("the handler of an item panics", "queue", w.Name, "item", h.Id, "panic", r)
		}
	}()
	return w.handle(h.ctx, h.Item)
}

// settle tells the queue what becomes of an item until the queue answers, and after a stop for as long as farewell.
func (w *work) settle(h *held, op api.Op) {
	op.Id, op.Attempt = h.Id, &h.Attempt
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.stop))
	defer cancel()
	defer context.AfterFunc(w.stop, func() { time.AfterFunc(farewell, cancel) })()
	tries := 0
	var answer stepAnswer
	err := insist(ctx, w.warn("tell what became of an item"), func(ctx context.Context) (err error) {
		tries++
		answer, err = w.Client.step(ctx, w.Name, w.ops([]api.Op{op}), 0)
		return err
	})
	if err != nil {
		w.Logger.Warn("what became of an item was not told; it comes back to the queue when its lease ends", "queue", w.Name, "item", h.Id, "op", op.Op, "error", err)
		return
	}
	switch outcome := answer.Results[0].Outcome; {
	case outcome == api.ResultOutcomeOk:
	case outcome == api.ResultOutcomeSuspendLimit:
		note := "it may not be suspended again"
		if op.Note != nil {
			note += ": " + *op.Note
		}
		w.settle(h, opOf(errors.New(note)))
	case outcome == api.ResultOutcomeLeaseLost && tries > 1:
		w.Logger.Info("an item is not this worker's any more: an earlier try has told the queue, or the lease was lost", "queue", w.Name, "item", h.Id, "op", op.Op)
	default:
		w.Logger.Warn("the queue refused what became of an item; nothing was changed", "queue", w.Name, "item", h.Id, "op", op.Op, "outcome", outcome)
	}
}

// ops is a request with operations. It has no id: the id of a worker's last request belongs to its lease.
func (w *work) ops(list []api.Op) api.Step {
	body := api.Step{Worker: &w.Worker, Ops: &list}
	if w.Test {
		body.Test = &w.Test
	}
	return body
}

func (w *work) warn(what string) func(error, time.Duration) {
	return func(err error, pause time.Duration) {
		w.Logger.Warn("a request failed and is repeated", "request", what, "queue", w.Name, "error", err, "next_try_in", pause)
	}
}

// clean makes a text fit to be a note: no control characters, and not too long.
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
