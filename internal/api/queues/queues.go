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

// Deps are the dependencies of the room.
type Deps struct {
	Queues  map[string]view.ServedQueue // The queues by name.
	Notices Notices                     // nil = items have no titles.
	Logger  *slog.Logger
}

// Handlers serves queues.
type Handlers struct {
	deps    Deps
	log     *slog.Logger
	waiters *api.Waiters // Set by Register.
}

// New makes the room.
func New(deps Deps) *Handlers { return &Handlers{deps: deps, log: deps.Logger} }

// Register adds the operations.
func (h *Handlers) Register(operations *api.Operations) {
	h.waiters = operations.Waiters
	h.registerQueues(operations)
}

// The maximum sizes of bodies. They have room for 1,000 items of 8 KB, or 1,000 operations of 1 KB.
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

// by returns the name of the caller for an item's trace.
func by(ctx context.Context, c *item.Caller) string {
	if c.Worker != "" {
		return c.Name()
	}
	return api.TraceName(auth.From(ctx).Subject)
}

// callerOf returns the caller for a queue, with the worker that the request names. In mode none there is no subject,
// only a worker. An operator may act on items that other workers have leased.
func callerOf(ctx context.Context, worker string) item.Caller {
	who := auth.From(ctx)
	c := item.Caller{Worker: worker, Scope: view.ScopeOf(who), OwnLeases: !who.Has(api.Operators...)}
	if who.Subject != auth.Anonymous {
		c.Subject = subjectName(who.Subject)
	}
	return c
}

// subjectName returns the name of a subject in queues. The name is the subject itself if the subject is a valid name.
// Otherwise the name is a part of the subject and a hash of the subject, so that two subjects never get the same name.
func subjectName(subject string) string {
	name := api.TraceName(subject)
	if name == subject {
		return subject
	}
	sum := sha256.Sum256([]byte(subject))
	return name[:min(len(name), item.MaxName-len(sum))] + ":" + hex.EncodeToString(sum[:8])
}

// scopeWithin returns the warehouses of a request: the warehouse that the request names, or else all warehouses of the
// token.
func scopeWithin(who *auth.Identity, warehouse string) (item.Scope, *wire.Problem) {
	if warehouse == "" {
		return view.ScopeOf(who), nil
	}
	if !api.IsName(warehouse) {
		return nil, api.BadWarehouse(http.StatusBadRequest, "warehouse", warehouse)
	}
	return item.Scope{warehouse}, api.InWarehouse(who, warehouse)
}

// queue finds the queue with the name.
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

// queueOrTwin finds the queue for a request that only reads, and tells whether the request means the test twin.
func (h *Handlers) queueOrTwin(name string, flag api.Flag) (*view.ServedQueue, bool, *wire.Problem) {
	test, prob := flag.Parse("test")
	if prob != nil {
		return nil, false, prob
	}
	q, prob := h.queue(name)
	return q, test, prob
}

// queueFor finds the queue for a request that changes it, and the name of the caller for the trace.
func (h *Handlers) queueFor(ctx context.Context, name string) (*view.ServedQueue, string, *wire.Problem) {
	q, prob := h.queue(name)
	c := callerOf(ctx, "")
	return q, by(ctx, &c), prob
}

// queueFailed converts an error of a queue to a problem. list is the name of the list in the body to which the index in
// the error belongs, or "" if the request is about one item.
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
			level = slog.LevelDebug // The queue logs this fault itself, once.
		}
		h.log.LogAttrs(ctx, level, "Request failed, because its queue reported an error.", slog.String("queue", queue), slog.Any("error", err))
	}
	return queueUnavailable("the queue cannot be reached or is being restored; try again")
}

func queueUnavailable(detail string) *wire.Problem {
	p := wire.NewProblem(http.StatusServiceUnavailable, wire.CodeQueueUnavailable, detail)
	p.RetryAfter = 1
	return p
}

// invalidAt returns the place of an error in the request.
func invalidAt(e *item.InvalidError, list string) string {
	switch {
	case list == "" && e.Field == "id":
		return "path.id"
	case list == "" || e.Index < 0:
		return "body." + e.Field
	case list == "ids": // The entries are texts and have no fields.
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

// QueuePath names the queue of a request. The OpenAPI library only looks into exported types.
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

// sizes reads the depth of a queue.
func (h *Handlers) sizes(ctx context.Context, q *view.ServedQueue, name string, test bool) (wire.QueueForm, *wire.Problem) {
	s, err := q.Sizes(ctx, test, view.ScopeOf(auth.From(ctx)))
	if err != nil {
		return wire.QueueForm{}, h.queueFailed(ctx, name, "", err)
	}
	return view.NewQueueForm(name, test, &s, q, time.Now()), nil
}
