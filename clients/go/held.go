package tallyman

import (
	"context"
	"sync/atomic"
	"time"

	"tallyman/clients/go/api"
)

// heldItem is an item that the worker has leased.
type heldItem struct {
	Item

	ctx    context.Context //nolint:containedctx // of its handler
	cancel context.CancelCauseFunc
	timer  *time.Timer // Ends ctx when the lease ends.
	lost   atomic.Bool // The queue has refused to extend the lease.
}

// isLost tells whether the queue has refused to extend the lease, so that the item no longer belongs to this worker.
func (h *heldItem) isLost() bool { return h.lost.Load() }

func (w *work) hold(it Item) *heldItem {
	h := &heldItem{Item: it}
	h.ctx, h.cancel = context.WithCancelCause(w.ctx)
	h.timer = time.AfterFunc(w.Lease, func() { h.cancel(ErrLeaseLost) })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[h] = true
	return h
}

func (w *work) drop(h *heldItem) {
	w.mu.Lock()
	delete(w.all, h)
	w.mu.Unlock()
	h.timer.Stop()
	h.cancel(nil)
}

// extendAll extends the leases of all items well before they end, until ctx ends.
func (w *work) extendAll(ctx context.Context) {
	tick := time.NewTicker(w.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.extendHeld(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (w *work) extendHeld(ctx context.Context) {
	w.mu.Lock()
	list := make([]*heldItem, 0, len(w.all))
	byID := map[string]*heldItem{}
	for h := range w.all {
		list = append(list, h)
		byID[h.Id] = h
	}
	w.mu.Unlock()
	if len(list) == 0 {
		return
	}
	trying, cancel := context.WithTimeout(ctx, w.Lease/3) // After that the next tick tries again.
	defer cancel()
	results, err := w.extend(trying, list)
	if err != nil {
		if ctx.Err() == nil {
			w.Logger.Warn("Leases could not be extended. The worker tries again.", "queue", w.Name, "items", len(list), "error", err)
		}
		return
	}
	for _, r := range results {
		h := byID[r.Id]
		if r.Outcome == api.ResultOutcomeOk {
			h.timer.Reset(w.Lease)
			continue
		}
		h.lost.Store(true)
		h.cancel(ErrLeaseLost)
	}
}

// extend extends the leases of the items. A repeated call does no harm.
func (w *work) extend(ctx context.Context, list []*heldItem) (results []api.Result, err error) {
	ops := make([]api.Op, len(list))
	for i, h := range list {
		ops[i] = api.Op{Op: api.OpOpExtend, Id: h.Id, Attempt: &h.Attempt, Lease: seconds(w.Lease)}
	}
	err = insist(ctx, func(error, time.Duration) {}, func(ctx context.Context) error {
		answer, err := w.Client.step(ctx, w.Name, w.ops(ops), 0)
		results = answer.Results
		return err
	})
	return results, err
}
