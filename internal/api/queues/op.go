package queues

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/item"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

// ItemPath names the item of a request.
type ItemPath struct {
	ID string `path:"id" doc:"id of the item" example:"picking-4711"`
}

type (
	itemOpInput struct {
		QueuePath
		ItemPath
		Body *wire.ItemOpForm
	}
	itemOpOutput    struct{ Body wire.ResultForm }
	removeItemInput struct {
		QueuePath
		ItemPath
		Force api.Flag `query:"force" doc:"remove the item even while it is leased"`
		Test  api.Flag `query:"test" doc:"true where the item is in the test twin"`
		Note  string   `query:"note" doc:"reason, for the trace; cut at 500 bytes"`
	}
)

func (h *Handlers) registerItemOps(operations huma.API) {
	for _, op := range []struct {
		kind             item.OpKind
		summary, details string
	}{
		{item.Ack, "Ack an item: its work is done", ""},
		{item.Nack, "Nack an item: its work has failed", "The item is ready again after delay. It becomes dead if it has failed as often as the queue allows."},
		{item.Release, "Release an item whose work was not begun", "The item goes back to its place among the items of its priority. This does not count as a failure."},
		{item.Extend, "Extend the lease of an item", ""},
		{item.Suspend, "Suspend an item", "The item waits for the next of the queue's suspend steps. If all steps are used, the answer is 409 suspend_limit. " +
			"Without attempt an operator suspends an item that is not leased."},
		{item.Store, "Store an item for days", "Its suspends are counted from zero again. Without attempt an operator stores an item that is not leased."},
		{item.Finish, "End an item that is not leased", ""},
		{item.Assign, "Assign an item to one worker", "A delayed, suspended or stored item keeps its time. With attempt the worker that holds the item passes it on. " +
			"This does not count as a failure."},
		{item.Requeue, "Make a dead item ready again", "Its failures are counted from zero again."},
		{item.Set, "Set the priority or the order of an item", "The item moves at once to its new place in the order of service. A leased item stays as it is: 409 item_leased."},
	} {
		kind := string(op.kind)
		o := api.Operation(kind+"-item", http.MethodPost, "/queues/{queue}/items/{id}/"+kind, "queues", op.summary)
		o.Description = op.details
		huma.Register(operations, o, func(ctx context.Context, in *itemOpInput) (*itemOpOutput, error) { return h.itemOp(ctx, op.kind, in) })
	}
	remove := api.Operation("remove-item", http.MethodDelete, "/queues/{queue}/items/{id}", "queues", "Remove an item")
	huma.Register(operations, remove, h.removeItem)
}

// itemOp answers POST /queues/{queue}/items/{id}/<operation>.
func (h *Handlers) itemOp(ctx context.Context, kind item.OpKind, in *itemOpInput) (*itemOpOutput, error) {
	body := in.Body
	if body == nil {
		body = &wire.ItemOpForm{}
	}
	form := wire.OpForm{Op: string(kind), ID: in.ID, OpFields: body.OpFields}
	worker := ""
	switch {
	case kind == item.Assign:
		form.Worker = body.Worker
	case body.Worker != nil:
		worker = *body.Worker
	}
	op, faults := parseOp(&form)
	for i := range faults {
		faults[i].Location = "body." + faults[i].Location
	}
	if len(faults) > 0 {
		return nil, api.InvalidBody(faults)
	}
	r, prob := h.oneOp(ctx, in.Queue, item.Step{Test: body.Test, Caller: item.Caller{Worker: worker}, Ops: []item.Op{op}})
	if prob != nil {
		return nil, prob
	}
	return &itemOpOutput{Body: newResultForm(r)}, nil
}

// removeItem answers DELETE /queues/{queue}/items/{id}.
func (h *Handlers) removeItem(ctx context.Context, in *removeItemInput) (*struct{}, error) {
	force, prob := in.Force.Parse("force")
	if prob != nil {
		return nil, prob
	}
	test, prob := in.Test.Parse("test")
	if prob != nil {
		return nil, prob
	}
	op := item.Op{Kind: item.Remove, ID: in.ID, Force: force, Note: in.Note}
	if _, prob := h.oneOp(ctx, in.Queue, item.Step{Test: test, Ops: []item.Op{op}}); prob != nil {
		return nil, prob
	}
	return nil, nil //nolint:nilnil // the OpenAPI library answers 204
}

// oneOp does a step with one operation. If the operation fails, oneOp returns the problem.
func (h *Handlers) oneOp(ctx context.Context, name string, s item.Step) (*item.Result, *wire.Problem) {
	q, prob := h.queue(name)
	if prob != nil {
		return nil, prob
	}
	s.Caller = callerOf(ctx, s.Worker)
	s.By = by(ctx, &s.Caller)
	s.Order = orderOfOp(ctx, name, s.Test, &s.Ops[0])
	if prob := mayStep(auth.From(ctx), s.Ops); prob != nil {
		return nil, prob
	}
	done, err := q.Step(ctx, s)
	if err != nil {
		return nil, h.queueFailed(ctx, name, "", err)
	}
	r := &done.Results[0]
	return r, outcomeProblem(name, &s.Ops[0], r.Outcome)
}

// outcomeProblem converts the outcome of a single operation to a problem, or to nil for ok.
func outcomeProblem(queue string, op *item.Op, outcome item.Outcome) *wire.Problem {
	it := "item " + policy.Quote(op.ID)
	switch outcome {
	case item.OK:
		return nil
	case item.LeaseLost:
		return wire.NewProblem(http.StatusConflict, wire.CodeLeaseLost,
			"attempt "+strconv.Itoa(op.Attempt)+" of "+it+" is over: its lease has expired, the item has moved on or ended, or another subject holds the item; nothing was changed")
	case item.IsLeased:
		return wire.NewProblem(http.StatusConflict, wire.CodeItemLeased, "a worker holds "+it+"; "+leasedHint(op.Kind))
	case item.SuspendLimit:
		return wire.NewProblem(http.StatusConflict, wire.CodeSuspendLimit, it+" was suspended as often as the queue allows; store or finish it")
	case item.IsDead:
		return wire.NewProblem(http.StatusConflict, wire.CodeItemDead, it+" is dead; requeue or remove it")
	case item.NotDead:
		return wire.NewProblem(http.StatusConflict, wire.CodeItemNotDead, it+" is not dead")
	case item.NotFound:
	}
	return wire.NewProblem(http.StatusNotFound, wire.CodeItemNotFound, "queue "+queue+" has no "+it+", or it has ended")
}

// leasedHint tells an operator how to go on with a leased item.
func leasedHint(kind item.OpKind) string {
	switch n := needsOf(kind); {
	case n.attempt != refused:
		return "name the attempt, or wait until the worker has finished the item"
	case n.force != refused:
		return "use force to remove the item now"
	}
	return "wait until the worker has finished the item, or until the lease ends"
}

func newResultForm(r *item.Result) wire.ResultForm {
	return wire.ResultForm{Op: string(r.Kind), ID: r.ID, Outcome: string(r.Outcome), State: string(r.State), Due: wire.Moment(r.Due)}
}

// need says whether an operation uses a field.
type need uint8

const (
	refused need = iota
	taken
	needed
)

// needs says for each field whether an operation uses it. The operation store takes days in place of delay.
type needs struct{ attempt, delay, lease, worker, force, set need }

// needsOf returns the fields of an operation.
func needsOf(kind item.OpKind) needs {
	switch kind {
	case item.Ack, item.Release:
		return needs{attempt: needed}
	case item.Nack:
		return needs{attempt: needed, delay: taken}
	case item.Extend:
		return needs{attempt: needed, lease: taken}
	case item.Suspend:
		return needs{attempt: taken}
	case item.Store:
		return needs{attempt: taken, delay: needed}
	case item.Assign:
		return needs{attempt: taken, worker: needed}
	case item.Remove:
		return needs{force: taken}
	case item.Set:
		return needs{set: taken}
	case item.Finish, item.Requeue:
	}
	return needs{}
}

// parseOp parses an operation. The location of a fault is the name of the field.
func parseOp(f *wire.OpForm) (item.Op, []wire.Fault) {
	op := item.Op{Kind: item.OpKind(f.Op), ID: f.ID, Attempt: f.Attempt, Force: f.Force, Note: f.Note}
	if f.Worker != nil {
		op.Worker = *f.Worker
	}
	n := needsOf(op.Kind)
	var faults []wire.Fault
	check := func(field string, n need, given bool) {
		switch {
		case n == refused && given:
			faults = append(faults, wire.Fault{Location: field, Message: f.Op + " does not use this field"})
		case n == needed && !given:
			faults = append(faults, wire.Fault{Location: field, Message: f.Op + " needs this field"})
		}
	}
	check("attempt", n.attempt, f.Attempt > 0)
	check("delay", n.delay, f.Delay != "" || f.Days > 0 && op.Kind == item.Store)
	check("lease", n.lease, f.Lease != "")
	check("worker", n.worker, f.Worker != nil)
	check("force", n.force, f.Force)
	check("priority", n.set, f.Priority != 0)
	check("order", n.set, f.Order != nil)
	switch {
	case f.Days > 0 && op.Kind != item.Store:
		check("days", refused, true)
	case f.Days > 0 && f.Delay != "":
		faults = append(faults, wire.Fault{Location: "days", Message: "days and delay both set how long: give one of the two"})
	}
	if field, text := spanOf(f); text != "" {
		var err error
		if op.Delay, err = api.ParseSpan(text); err != nil {
			faults = append(faults, wire.Fault{Location: field, Message: err.Error()})
		}
	}
	if op.Kind == item.Set {
		op.Set = &item.Setting{Priority: f.Priority}
		if f.Order != nil {
			order, err := item.ParseServiceOrder(*f.Order)
			if err != nil {
				faults = append(faults, wire.Fault{Location: "order", Message: err.Error()})
			}
			op.Set.Order = &order
		}
		if f.Priority == 0 && f.Order == nil {
			faults = append(faults, wire.Fault{Location: "priority", Message: "set needs priority, order, or both"})
		}
	}
	op.Delay += time.Duration(f.Days) * 24 * time.Hour
	return op, faults
}

// spanOf returns the duration of the operation, and the name of the field that has it.
func spanOf(f *wire.OpForm) (field, text string) {
	if f.Lease != "" {
		return "lease", f.Lease
	}
	return "delay", f.Delay
}
