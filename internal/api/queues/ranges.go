package queues

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/item"
	"tallyman/internal/wire"
)

type (
	rangeInput struct {
		QueuePath
		Body wire.RangeForm
	}
	removedOutput struct{ Body wire.RemovedForm }
	requeueInput  struct {
		QueuePath
		Body wire.RequeueForm
	}
	requeuedOutput struct{ Body wire.RequeuedForm }
)

func (h *Handlers) registerRanges(operations huma.API) {
	remove := api.Operation("remove-range", http.MethodPost, "/queues/{queue}/remove", "queues", "Remove a range of items")
	remove.Description = "The ranks are the ranks in the list of the state at this moment. Read the list right before the call, and pause the queue if its items move."
	huma.Register(operations, remove, h.removeRange)
	requeue := api.Operation("requeue-items", http.MethodPost, "/queues/{queue}/requeue", "queues", "Make dead items ready again")
	requeue.Description = "The call requeues the named items, or all dead items that are not withheld. Their failures are counted from zero again."
	requeue.MaxBodyBytes = maxStepBody
	huma.Register(operations, requeue, h.requeueItems)
}

// removeRange answers POST /queues/{queue}/remove.
func (h *Handlers) removeRange(ctx context.Context, in *rangeInput) (*removedOutput, error) {
	q, by, prob := h.queueFor(ctx, in.Queue)
	if prob != nil {
		return nil, prob
	}
	f := &in.Body
	scope, prob := scopeWithin(auth.From(ctx), f.Warehouse)
	if prob != nil {
		return nil, prob
	}
	if f.To < f.From {
		return nil, api.InvalidBody([]wire.Fault{{Location: "body.to", Message: "it is before from"}})
	}
	order := orderOf(ctx, "queue.remove", queueObject(in.Queue), f)
	order.Count = "removed"
	removed, err := q.RemoveRange(ctx, item.Bulk{Test: f.Test, Scope: scope, By: by, Order: order}, item.State(f.State), f.From, f.To)
	if err != nil {
		return nil, h.queueFailed(ctx, in.Queue, "", err)
	}
	h.log.LogAttrs(ctx, slog.LevelInfo, "Items were removed from a queue.", slog.String("queue", in.Queue), slog.Bool("test", f.Test),
		slog.String("state", f.State), slog.Int64("from", f.From), slog.Int64("to", f.To), slog.Int("removed", removed), slog.String("by", by))
	return &removedOutput{Body: wire.RemovedForm{Removed: removed}}, nil
}

// requeueItems answers POST /queues/{queue}/requeue.
func (h *Handlers) requeueItems(ctx context.Context, in *requeueInput) (*requeuedOutput, error) {
	q, by, prob := h.queueFor(ctx, in.Queue)
	if prob != nil {
		return nil, prob
	}
	f := &in.Body
	if f.All == (len(f.IDs) > 0) {
		return nil, api.InvalidBody([]wire.Fault{{Location: "body.ids", Message: "give ids or all, but not both"}})
	}
	out := &requeuedOutput{}
	if f.All {
		order := orderOf(ctx, "queue.requeue", queueObject(in.Queue), f)
		order.Count = "requeued"
		n, err := q.RequeueDead(ctx, item.Bulk{Test: f.Test, Scope: view.ScopeOf(auth.From(ctx)), By: by, Order: order})
		if err != nil {
			return nil, h.queueFailed(ctx, in.Queue, "", err)
		}
		out.Body.Requeued = n
	} else if prob := h.requeueNamed(ctx, q, in, by, &out.Body); prob != nil {
		return nil, prob
	}
	h.log.LogAttrs(ctx, slog.LevelInfo, "Dead items were requeued.", slog.String("queue", in.Queue), slog.Bool("test", f.Test),
		slog.Int("items", out.Body.Requeued), slog.String("by", by))
	return out, nil
}

func (h *Handlers) requeueNamed(ctx context.Context, q *view.ServedQueue, in *requeueInput, by string, out *wire.RequeuedForm) *wire.Problem {
	s := item.Step{
		Test: in.Body.Test, Caller: callerOf(ctx, ""), By: by, Ops: make([]item.Op, len(in.Body.IDs)),
		Order: orderOf(ctx, "queue.requeue", queueObject(in.Queue), termsOf(in.Body.Test, false)),
	}
	for i, id := range in.Body.IDs {
		s.Ops[i] = item.Op{Kind: item.Requeue, ID: id}
	}
	done, err := q.Step(ctx, s)
	if err != nil {
		return h.queueFailed(ctx, in.Queue, "ids", err)
	}
	out.Results = make([]wire.ResultForm, len(done.Results))
	for i := range done.Results {
		out.Results[i] = newResultForm(&done.Results[i])
		if done.Results[i].Outcome == item.OK {
			out.Requeued++
		}
	}
	return nil
}
