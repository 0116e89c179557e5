package queues

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/delivery"
	"tallyman/internal/item"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/sinks"
)

// Deps is what the room is made of.
type Deps struct {
	Queues  map[string]view.ServedQueue // by name
	Notices Notices                     // nil = items have no titles
	Logger  *slog.Logger
}

// Handlers serves queues.
type Handlers struct {
	deps    Deps
	log     *slog.Logger
	waiters *api.Waiters // set by Register
}

// New makes the room.
func New(deps Deps) *Handlers { return &Handlers{deps: deps, log: deps.Logger} }

// Register adds the operations.
func (h *Handlers) Register(operations *api.Operations) {
	h.waiters = operations.Waiters
	h.registerQueues(operations)
}

// The sizes of bodies: what 1,000 items or operations come to, well filled.
const (
	maxPushBody     = 8 << 20
	maxStepBody     = 1 << 20
	pushBodyTimeout = 30 * time.Second
)

func (h *Handlers) registerQueues(operations huma.API) {
	h.registerSizes(operations)
	h.registerPush(operations)
	h.registerSteps(operations)
	h.registerItemOps(operations)
	h.registerItems(operations)
	h.registerWorkers(operations)
	h.registerRanges(operations)
	h.registerSettings(operations)
}

// by is who does something, as the trace names it.
func by(ctx context.Context, c *item.Caller) string {
	if c.Worker != "" {
		return c.Name()
	}
	return api.TraceName(auth.From(ctx).Subject)
}

// callerOf is who asks a queue, with the worker that the request names. Without tokens nobody has a subject, and the worker alone is known.
// Those who operate may touch what others have leased.
func callerOf(ctx context.Context, worker string) item.Caller {
	who := auth.From(ctx)
	c := item.Caller{Worker: worker, Scope: view.ScopeOf(who), OwnLeases: !who.Has(api.Operators...)}
	if who.Subject != auth.Anonymous {
		c.Subject = subjectName(who.Subject)
	}
	return c
}

// subjectName is the subject as queues have it: itself, but for one that is no name, of which no other subject's is made.
func subjectName(subject string) string {
	name := api.TraceName(subject)
	if name == subject {
		return subject
	}
	sum := sha256.Sum256([]byte(subject))
	return name[:min(len(name), item.MaxName-len(sum))] + ":" + hex.EncodeToString(sum[:8])
}

// scopeWithin narrows the caller's scope to the warehouse that a request names, if it names one.
func scopeWithin(who *auth.Identity, warehouse string) (item.Scope, *wire.Problem) {
	if warehouse == "" {
		return view.ScopeOf(who), nil
	}
	if !api.IsName(warehouse) {
		return nil, api.BadWarehouse(http.StatusBadRequest, "warehouse", warehouse)
	}
	return item.Scope{warehouse}, api.InWarehouse(who, warehouse)
}

// queue finds the queue of that name.
func (h *Handlers) queue(name string) (*view.ServedQueue, *wire.Problem) {
	if q, ok := h.deps.Queues[name]; ok {
		return &q, nil
	}
	detail := "there is no queue " + policy.Quote(name)
	if names := slices.Sorted(maps.Keys(h.deps.Queues)); len(names) > 0 {
		detail += "; there are " + strings.Join(names, ", ")
	}
	return nil, wire.NewProblem(http.StatusNotFound, wire.CodeQueueNotFound, detail)
}

// queueOrTwin finds the queue for a request that looks, and tells whether it is about the twin.
func (h *Handlers) queueOrTwin(name string, flag api.Flag) (*view.ServedQueue, bool, *wire.Problem) {
	test, prob := flag.Parse("test")
	if prob != nil {
		return nil, false, prob
	}
	q, prob := h.queue(name)
	return q, test, prob
}

// queueFor finds the queue for a request that changes it, and who is to stand in the trace.
func (h *Handlers) queueFor(ctx context.Context, name string) (*view.ServedQueue, string, *wire.Problem) {
	q, prob := h.queue(name)
	c := callerOf(ctx, "")
	return q, by(ctx, &c), prob
}

// queueFailed turns an error of a queue into a problem. The list is where the body has what an error's index counts; "" where the
// request is about one item.
func (h *Handlers) queueFailed(ctx context.Context, queue, list string, err error) *wire.Problem {
	if invalid, ok := errors.AsType[*item.InvalidError](err); ok {
		return api.InvalidBody([]wire.Fault{{Location: invalidAt(invalid, list), Message: invalid.Message}})
	}
	if errors.Is(err, delivery.ErrNotFound) {
		return wire.NewProblem(http.StatusNotFound, wire.CodeItemNotFound, "queue "+queue+" has no such item")
	}
	if prob := api.NotRecorded(ctx, h.log, err); prob != nil {
		return prob
	}
	if !api.Gone(ctx) {
		level := slog.LevelError
		if errors.Is(err, sinks.ErrUnavailable) {
			level = slog.LevelDebug // the queue itself logs it, once
		}
		h.log.LogAttrs(ctx, level, "Request failed, because its queue reported an error.", slog.String("queue", queue), slog.Any("error", err))
	}
	return queueUnavailable("the queue is out of reach or being written back; try again")
}

func queueUnavailable(detail string) *wire.Problem {
	p := wire.NewProblem(http.StatusServiceUnavailable, wire.CodeQueueUnavailable, detail)
	p.RetryAfter = 1
	return p
}

// invalidAt is the place of an error in the request.
func invalidAt(e *item.InvalidError, list string) string {
	switch {
	case list == "" && e.Field == "id":
		return "path.id"
	case list == "" || e.Index < 0:
		return "body." + e.Field
	case list == "ids": // they are texts
		return "body.ids[" + strconv.Itoa(e.Index) + "]"
	}
	return "body." + list + "[" + strconv.Itoa(e.Index) + "]." + e.Field
}

type (
	twinQuery struct {
		Test api.Flag `query:"test" doc:"use the test twins"`
	}
	queueInput struct {
		QueuePath
		Test api.Flag `query:"test" doc:"use the test twin"`
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
	Queue string `path:"queue" doc:"name of the queue" example:"replenishment"`
}

func (h *Handlers) registerSizes(operations huma.API) {
	huma.Register(operations, api.Operation("list-queues", http.MethodGet, "/queues", "queues", "List the queues and their depths, for the token's warehouses"), h.listQueues)
	huma.Register(operations, api.Operation("get-queue", http.MethodGet, "/queues/{queue}", "queues", "Show the depth of a queue, for the token's warehouses"), h.getQueue)
	pause := api.Operation("pause-queue", http.MethodPost, "/queues/{queue}/pause", "queues", "Pause a queue: lease no more items")
	pause.Description = "The pause holds at once on every node and for all warehouses, so the token must be for all warehouses. Leased items stay leased, and the queue still " +
		"accepts items. The pause survives a loss of Redis."
	huma.Register(operations, pause, h.pauseQueue)
	huma.Register(operations, api.Operation("resume-queue", http.MethodPost, "/queues/{queue}/resume", "queues", "Resume a queue: lease items again"), h.resumeQueue)
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
	h.log.LogAttrs(ctx, slog.LevelInfo, "Queue was paused or resumed.", slog.String("to", what), slog.String("queue", in.Queue), slog.Bool("test", test), slog.String("by", by))
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
	return view.NewQueueForm(name, test, &s, q, time.Now()), nil
}
