package queues

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/item"
	"tallyman/internal/wire"
)

type (
	twinQuery struct {
		Test api.Flag `query:"test" doc:"the test twins"`
	}
	queueInput struct {
		QueuePath
		Test api.Flag `query:"test" doc:"the test twin"`
	}
	queuesOutput struct{ Body wire.QueuesForm }
	queueOutput  struct{ Body wire.QueueForm }
	pauseInput   struct {
		QueuePath
		Body *wire.TwinForm
	}
)

// QueuePath names the queue of a request. The OpenAPI library looks into exported types alone.
type QueuePath struct {
	Queue string `path:"queue" doc:"the queue" example:"replenishment"`
}

func (h *Handlers) registerSizes(operations huma.API) {
	huma.Register(operations, api.Operation("list-queues", http.MethodGet, "/queues", "queues", "All queues, and how full they are, of the token's warehouses"), h.listQueues)
	huma.Register(operations, api.Operation("get-queue", http.MethodGet, "/queues/{queue}", "queues", "How full a queue is, of the token's warehouses"), h.getQueue)
	pause := api.Operation("pause-queue", http.MethodPost, "/queues/{queue}/pause", "queues", "Give out nothing more")
	pause.Description = "On every node and for all warehouses, at once: the token must be for all of them. What is leased goes on, and items are taken in. Survives a loss of Redis."
	huma.Register(operations, pause, h.pauseQueue)
	huma.Register(operations, api.Operation("resume-queue", http.MethodPost, "/queues/{queue}/resume", "queues", "Give out items again"), h.resumeQueue)
}

// listQueues answers GET /queues.
func (h *Handlers) listQueues(ctx context.Context, in *twinQuery) (*queuesOutput, error) {
	test, prob := in.Test.Parse("test")
	if prob != nil {
		return nil, prob
	}
	out := &queuesOutput{Body: wire.QueuesForm{Queues: []wire.QueueForm{}}}
	for _, name := range slices.Sorted(maps.Keys(h.deps.Queues)) {
		q := h.deps.Queues[name]
		form, prob := h.sizes(ctx, &q, name, test)
		if prob != nil {
			return nil, prob
		}
		out.Body.Queues = append(out.Body.Queues, form)
	}
	return out, nil
}

// getQueue answers GET /queues/{queue}.
func (h *Handlers) getQueue(ctx context.Context, in *queueInput) (*queueOutput, error) {
	q, test, prob := h.queueOrTwin(in.Queue, in.Test)
	if prob != nil {
		return nil, prob
	}
	return h.queueAnswer(ctx, q, in.Queue, test)
}

// pauseQueue answers POST /queues/{queue}/pause.
func (h *Handlers) pauseQueue(ctx context.Context, in *pauseInput) (*queueOutput, error) {
	return h.switchQueue(ctx, in, "pause", view.Queue.Pause)
}

// resumeQueue answers POST /queues/{queue}/resume.
func (h *Handlers) resumeQueue(ctx context.Context, in *pauseInput) (*queueOutput, error) {
	return h.switchQueue(ctx, in, "resume", view.Queue.Resume)
}

func (h *Handlers) switchQueue(
	ctx context.Context, in *pauseInput, what string, change func(q view.Queue, ctx context.Context, test bool, by string, o *item.Order) error,
) (*queueOutput, error) {
	test := in.Body != nil && in.Body.Test
	q, by, prob := h.queueFor(ctx, in.Queue)
	if prob != nil {
		return nil, prob
	}
	if prob := api.InWarehouse(auth.From(ctx), auth.AllWarehouses); prob != nil {
		return nil, prob
	}
	if err := change(q.Queue, ctx, test, by, orderOf(ctx, "queue."+what, queueObject(in.Queue), nil)); err != nil {
		return nil, h.queueFailed(ctx, in.Queue, "", err)
	}
	h.log.LogAttrs(ctx, slog.LevelInfo, "a queue was switched", slog.String("to", what), slog.String("queue", in.Queue), slog.Bool("test", test), slog.String("by", by))
	return h.queueAnswer(ctx, q, in.Queue, test)
}

func (h *Handlers) queueAnswer(ctx context.Context, q *view.ServedQueue, name string, test bool) (*queueOutput, error) {
	form, prob := h.sizes(ctx, q, name, test)
	if prob != nil {
		return nil, prob
	}
	return &queueOutput{Body: form}, nil
}

// sizes asks a queue how full it is.
func (h *Handlers) sizes(ctx context.Context, q *view.ServedQueue, name string, test bool) (wire.QueueForm, *wire.Problem) {
	s, err := q.Sizes(ctx, test, view.ScopeOf(auth.From(ctx)))
	if err != nil {
		return wire.QueueForm{}, h.queueFailed(ctx, name, "", err)
	}
	return view.NewQueueForm(name, test, &s, &q.Settings, time.Now()), nil
}
