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

func (a *Handlers) registerSizes(operations huma.API) {
	huma.Register(operations, api.Operation("list-queues", http.MethodGet, "/queues", "queues", "All queues, and how full they are, of the token's warehouses"), a.listQueues)
	huma.Register(operations, api.Operation("get-queue", http.MethodGet, "/queues/{queue}", "queues", "How full a queue is, of the token's warehouses"), a.getQueue)
	pause := api.Operation("pause-queue", http.MethodPost, "/queues/{queue}/pause", "queues", "Give out nothing more")
	pause.Description = "On every node and for all warehouses, at once: the token must be for all of them. What is leased goes on, and items are taken in. Survives a loss of Redis."
	huma.Register(operations, pause, a.pauseQueue)
	huma.Register(operations, api.Operation("resume-queue", http.MethodPost, "/queues/{queue}/resume", "queues", "Give out items again"), a.resumeQueue)
}

// listQueues answers GET /queues.
func (a *Handlers) listQueues(ctx context.Context, in *twinQuery) (*queuesOutput, error) {
	test, prob := in.Test.Parse("test")
	if prob != nil {
		return nil, prob
	}
	out := &queuesOutput{Body: wire.QueuesForm{Queues: []wire.QueueForm{}}}
	for _, name := range slices.Sorted(maps.Keys(a.deps.Queues)) {
		q := a.deps.Queues[name]
		form, prob := a.sizes(ctx, &q, name, test)
		if prob != nil {
			return nil, prob
		}
		out.Body.Queues = append(out.Body.Queues, form)
	}
	return out, nil
}

// getQueue answers GET /queues/{queue}.
func (a *Handlers) getQueue(ctx context.Context, in *queueInput) (*queueOutput, error) {
	q, test, prob := a.queueOrTwin(in.Queue, in.Test)
	if prob != nil {
		return nil, prob
	}
	return a.queueAnswer(ctx, q, in.Queue, test)
}

// pauseQueue answers POST /queues/{queue}/pause.
func (a *Handlers) pauseQueue(ctx context.Context, in *pauseInput) (*queueOutput, error) {
	return a.switchQueue(ctx, in, "pause", view.Queue.Pause)
}

// resumeQueue answers POST /queues/{queue}/resume.
func (a *Handlers) resumeQueue(ctx context.Context, in *pauseInput) (*queueOutput, error) {
	return a.switchQueue(ctx, in, "resume", view.Queue.Resume)
}

func (a *Handlers) switchQueue(
	ctx context.Context, in *pauseInput, what string, change func(q view.Queue, ctx context.Context, test bool, by string, o *item.Order) error,
) (*queueOutput, error) {
	test := in.Body != nil && in.Body.Test
	q, by, prob := a.queueFor(ctx, in.Queue)
	if prob != nil {
		return nil, prob
	}
	if prob := api.InWarehouse(auth.From(ctx), auth.AllWarehouses); prob != nil {
		return nil, prob
	}
	if err := change(q.Queue, ctx, test, by, orderOf(ctx, "queue."+what, queueObject(in.Queue), nil)); err != nil {
		return nil, a.queueFailed(ctx, in.Queue, "", err)
	}
	a.log.LogAttrs(ctx, slog.LevelInfo, "a queue was switched", slog.String("to", what), slog.String("queue", in.Queue), slog.Bool("test", test), slog.String("by", by))
	return a.queueAnswer(ctx, q, in.Queue, test)
}

func (a *Handlers) queueAnswer(ctx context.Context, q *view.ServedQueue, name string, test bool) (*queueOutput, error) {
	form, prob := a.sizes(ctx, q, name, test)
	if prob != nil {
		return nil, prob
	}
	return &queueOutput{Body: form}, nil
}

// sizes asks a queue how full it is.
func (a *Handlers) sizes(ctx context.Context, q *view.ServedQueue, name string, test bool) (wire.QueueForm, *wire.Problem) {
	s, err := q.Sizes(ctx, test, view.ScopeOf(auth.From(ctx)))
	if err != nil {
		return wire.QueueForm{}, a.queueFailed(ctx, name, "", err)
	}
	return view.NewQueueForm(name, test, &s, &q.Settings, time.Now()), nil
}
