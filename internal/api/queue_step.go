package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/item"
	"tallyman/internal/wire"
)

type (
	leaseInput struct {
		QueuePath
		Body wire.LeaseForm
	}
	leaseOutput struct{ Body wire.LeasedItemsForm }
	stepInput   struct {
		QueuePath
		Body wire.StepForm
	}
	stepOutput struct{ Body wire.SteppedForm }
)

func (a *API) registerSteps(operations huma.API) {
	lease := Operation("lease-items", http.MethodPost, "/queues/{queue}/lease", "queues", "Take items to work on")
	lease.Description = "The highest priority first, in each the oldest first. An item is the worker's until its lease ends, and operations name the attempt that they belong to: " +
		"who comes too late gets a 409 lease_lost and changes nothing. With wait the answer is held back until there is an item."
	huma.Register(operations, lease, a.leaseItems)
	step := Operation("step", http.MethodPost, "/queues/{queue}/step", "queues", "Many operations at once, and items to work on")
	step.Description = "Each operation has its own outcome, and one that fails does not hold up the others. Fields that an operation does not use are refused."
	step.MaxBodyBytes = maxStepBody
	huma.Register(operations, step, a.stepQueue)
}

// leaseItems answers POST /queues/{queue}/lease.
func (a *API) leaseItems(ctx context.Context, in *leaseInput) (*leaseOutput, error) {
	s, faults := parseTerms(&in.Body.Terms, in.Body.Worker, in.Body.Max)
	if len(faults) > 0 {
		return nil, InvalidBody(faults)
	}
	done, prob := a.step(ctx, in.Queue, s)
	if prob != nil {
		return nil, prob
	}
	return &leaseOutput{Body: wire.LeasedItemsForm{Items: newLeasedForms(done.Items)}}, nil
}

// stepQueue answers POST /queues/{queue}/step.
func (a *API) stepQueue(ctx context.Context, in *stepInput) (*stepOutput, error) {
	s, prob := parseStep(&in.Body)
	if prob != nil {
		return nil, prob
	}
	s.Order = orderOfStep(ctx, in.Queue, &s)
	done, prob := a.step(ctx, in.Queue, s)
	if prob != nil {
		return nil, prob
	}
	out := &stepOutput{Body: wire.SteppedForm{Results: make([]wire.ResultForm, len(done.Results)), Items: newLeasedForms(done.Items)}}
	for i := range done.Results {
		out.Body.Results[i] = newResultForm(&done.Results[i])
	}
	return out, nil
}

// step has a queue do a step, and wait where it is to.
func (a *API) step(ctx context.Context, name string, s item.Step) (item.Stepped, *wire.Problem) {
	q, prob := a.queue(name)
	if prob != nil {
		return item.Stepped{}, prob
	}
	s.Caller = callerOf(ctx, s.Worker)
	s.By = by(ctx, &s.Caller)
	if prob := mayStep(auth.From(ctx), s.Ops); prob != nil {
		return item.Stepped{}, prob
	}
	done, err := a.stepAndWait(ctx, q, s)
	over := auth.From(ctx).Over()
	if (gone(ctx) || over) && len(done.Items) > 0 && (over || s.RequestID == "") {
		a.giveBack(ctx, q, name, s, done.Items)
	}
	if over && s.Max > 0 {
		return done, unauthorized(auth.From(ctx).Why())
	}
	if err != nil {
		return done, a.queueFailed(ctx, name, "ops", err)
	}
	return done, nil
}

// stepAndWait does a step whose wait ends with the client's patience, with the client, or with the server, whichever is first.
func (a *API) stepAndWait(ctx context.Context, q *view.ServedQueue, s item.Step) (item.Stepped, error) {
	if s.Wait == 0 || s.Max == 0 {
		return q.Step(ctx, s)
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	leave, ok := a.waiters.Enter(cancel)
	if !ok {
		s.Wait = 0
		return q.Step(ctx, s)
	}
	defer leave()
	who := auth.From(ctx)
	defer whenOver(waiting, who, cancel)()
	done, err := q.Step(waiting, s)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil && len(done.Results) == len(s.Ops) {
		return done, nil // the server ends: the client asks another
	}
	return done, err
}

// mayStep is nil where the caller may do all of the operations. A worker may touch what it has leased, and nothing else.
func mayStep(who *auth.Identity, ops []item.Op) *wire.Problem {
	operates := who.Has(operators...)
	for i := range ops {
		if prob := MayDo(who, string(ops[i].Kind)+"-item"); prob != nil {
			return prob
		}
		if !operates && ops[i].Attempt == 0 {
			return Denied(wire.CodeRoleMissing, "without an attempt this ("+string(ops[i].Kind)+"-item) is about an item that you have not leased; it takes the role "+
				orList(RoleNames(operators)))
		}
	}
	return nil
}

// giveBackTimeout bounds how long a request goes on whose client has left.
const giveBackTimeout = 5 * time.Second

// giveBack releases what was leased for a client that left without an answer. One that named its request can ask again.
func (a *API) giveBack(ctx context.Context, q *view.ServedQueue, name string, s item.Step, items []item.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	back := item.Step{Test: s.Test, Caller: s.Caller, By: s.By, Ops: make([]item.Op, len(items))}
	for i, l := range items {
		back.Ops[i] = item.Op{Kind: item.Release, ID: l.ID, Attempt: l.Attempt, Note: "the client left before it was answered"}
	}
	if _, err := q.Step(ctx, back); err != nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "items of a client that left wait for their leases to end", slog.String("queue", name),
			slog.String("worker", s.Worker), slog.Int("items", len(items)), slog.Any("error", err))
	}
}
