package api

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/auth"
	"tallyman/internal/item"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

type (
	twinQuery struct {
		Test testFlag `query:"test" doc:"the test twins"`
	}
	queueInput struct {
		QueuePath
		Test testFlag `query:"test" doc:"the test twin"`
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

func (a *API) registerSizes(operations huma.API) {
	huma.Register(operations, operation("list-queues", http.MethodGet, "/queues", "queues", "All queues, and how full they are, of the token's warehouses"), a.listQueues)
	huma.Register(operations, operation("get-queue", http.MethodGet, "/queues/{queue}", "queues", "How full a queue is, of the token's warehouses"), a.getQueue)
	pause := operation("pause-queue", http.MethodPost, "/queues/{queue}/pause", "queues", "Give out nothing more")
	pause.Description = "On every node and for all warehouses, at once: the token must be for all of them. What is leased goes on, and items are taken in. Survives a loss of Redis."
	huma.Register(operations, pause, a.pauseQueue)
	huma.Register(operations, operation("resume-queue", http.MethodPost, "/queues/{queue}/resume", "queues", "Give out items again"), a.resumeQueue)
}

// listQueues answers GET /queues.
func (a *API) listQueues(ctx context.Context, in *twinQuery) (*queuesOutput, error) {
	test, prob := in.Test.parse("test")
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
func (a *API) getQueue(ctx context.Context, in *queueInput) (*queueOutput, error) {
	q, test, prob := a.queueOrTwin(in.Queue, in.Test)
	if prob != nil {
		return nil, prob
	}
	return a.queueAnswer(ctx, q, in.Queue, test)
}

// pauseQueue answers POST /queues/{queue}/pause.
func (a *API) pauseQueue(ctx context.Context, in *pauseInput) (*queueOutput, error) {
	return a.switchQueue(ctx, in, "pause", Queue.Pause)
}

// resumeQueue answers POST /queues/{queue}/resume.
func (a *API) resumeQueue(ctx context.Context, in *pauseInput) (*queueOutput, error) {
	return a.switchQueue(ctx, in, "resume", Queue.Resume)
}

func (a *API) switchQueue(
	ctx context.Context, in *pauseInput, what string, change func(q Queue, ctx context.Context, test bool, by string, o *item.Order) error,
) (*queueOutput, error) {
	test := in.Body != nil && in.Body.Test
	q, by, prob := a.queueFor(ctx, in.Queue)
	if prob != nil {
		return nil, prob
	}
	if prob := inWarehouse(auth.From(ctx), auth.AllWarehouses); prob != nil {
		return nil, prob
	}
	if err := change(q.Queue, ctx, test, by, orderOf(ctx, "queue."+what, queueObject(in.Queue), nil)); err != nil {
		return nil, a.queueFailed(ctx, in.Queue, "", err)
	}
	a.log.LogAttrs(ctx, slog.LevelInfo, "a queue was switched", slog.String("to", what), slog.String("queue", in.Queue), slog.Bool("test", test), slog.String("by", by))
	return a.queueAnswer(ctx, q, in.Queue, test)
}

func (a *API) queueAnswer(ctx context.Context, q *ServedQueue, name string, test bool) (*queueOutput, error) {
	form, prob := a.sizes(ctx, q, name, test)
	if prob != nil {
		return nil, prob
	}
	return &queueOutput{Body: form}, nil
}

// sizes asks a queue how full it is.
func (a *API) sizes(ctx context.Context, q *ServedQueue, name string, test bool) (wire.QueueForm, *wire.Problem) {
	s, err := q.Sizes(ctx, test, scopeOf(auth.From(ctx)))
	if err != nil {
		return wire.QueueForm{}, a.queueFailed(ctx, name, "", err)
	}
	return newQueueForm(name, test, &s, &q.Settings, time.Now()), nil
}

func newQueueForm(name string, test bool, s *item.Sizes, settings *QueueSettings, now time.Time) wire.QueueForm {
	form := wire.QueueForm{
		Name: name, Test: test, Ready: s.Ready, Assigned: s.Assigned, Leased: s.Leased, Delayed: s.Delayed, Suspended: s.Suspended,
		Stored: s.Stored, Dead: s.Dead, Levels: make([]wire.LevelForm, len(s.Levels)), Paused: s.Pause.Paused, Settings: wire.SettingsForm{
			Timezone: settings.Timezone, Lease: strictyaml.FormatDuration(settings.Lease), MaxAttempts: settings.MaxAttempts,
			Dedupe: settings.Dedupe, SuspendSteps: make([]string, len(settings.SuspendSteps)),
		},
		Recent: wire.MovedForm{
			Seconds: s.Recent.Span.Round(time.Millisecond).Seconds(), Pushed: s.Recent.Pushed, Done: s.Recent.Done, Failed: s.Recent.Failed, Dead: s.Recent.Dead,
		},
	}
	for i, l := range s.Levels {
		form.Levels[i] = wire.LevelForm{Priority: l.Priority, Ready: l.Ready, Oldest: wire.Moment(l.Oldest)}
		if !l.Oldest.IsZero() {
			form.Levels[i].OldestSeconds = max(now.Sub(l.Oldest).Round(time.Millisecond).Seconds(), 0)
		}
	}
	form.Warehouses = make([]wire.DepthForm, len(s.Warehouses))
	for i := range s.Warehouses {
		d := &s.Warehouses[i]
		form.Warehouses[i] = wire.DepthForm{
			Warehouse: d.Warehouse, Ready: d.Ready, Assigned: d.Assigned, Leased: d.Leased, Delayed: d.Delayed, Suspended: d.Suspended,
			Stored: d.Stored, Dead: d.Dead,
		}
	}
	slices.SortFunc(form.Warehouses, func(a, b wire.DepthForm) int { return strings.Compare(a.Warehouse, b.Warehouse) })
	for i, d := range settings.SuspendSteps {
		form.Settings.SuspendSteps[i] = strictyaml.FormatDuration(d)
	}
	if s.Pause.Paused {
		form.PausedBy, form.PausedAt = s.Pause.By, wire.Moment(s.Pause.At)
	}
	return form
}
