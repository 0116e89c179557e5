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
	Queues map[string]view.ServedQueue // by name
	Logger *slog.Logger
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
	h.registerRanges(operations)
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
		h.log.LogAttrs(ctx, level, "a queue failed a request", slog.String("queue", queue), slog.Any("error", err))
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
