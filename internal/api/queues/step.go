package queues

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
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

func (h *Handlers) registerSteps(operations huma.API) {
	lease := api.Operation("lease-items", http.MethodPost, "/queues/{queue}/lease", "queues", "Lease items to work on")
	lease.Description = "Items of the highest priority come first, and among them the items with the lowest order. An item without an order has the time when it became ready. A worker holds an item until the lease ends. Every operation names the attempt " +
		"that it belongs to. An operation that comes too late gets a 409 lease_lost and changes nothing. With wait the server answers only when there is an " +
		"item or the wait is over."
	huma.Register(operations, lease, h.leaseItems)
	step := api.Operation("step", http.MethodPost, "/queues/{queue}/step", "queues", "Do many operations at once, and lease items")
	step.Description = "Each operation has its own outcome. An operation that fails does not stop the others. A field that an operation does not use is refused."
	step.MaxBodyBytes = maxStepBody
	huma.Register(operations, step, h.stepQueue)
}

// leaseItems answers POST /queues/{queue}/lease.
func (h *Handlers) leaseItems(ctx context.Context, in *leaseInput) (*leaseOutput, error) {
	s, faults := parseTerms(&in.Body.Terms, in.Body.Worker, in.Body.Max)
	if len(faults) > 0 {
		return nil, api.InvalidBody(faults)
	}
	done, prob := h.step(ctx, in.Queue, s)
	if prob != nil {
		return nil, prob
	}
	return &leaseOutput{Body: wire.LeasedItemsForm{Items: newLeasedForms(done.Items)}}, nil
}

// stepQueue answers POST /queues/{queue}/step.
func (h *Handlers) stepQueue(ctx context.Context, in *stepInput) (*stepOutput, error) {
	s, prob := parseStep(&in.Body)
	if prob != nil {
		return nil, prob
	}
	s.Order = orderOfStep(ctx, in.Queue, &s)
	done, prob := h.step(ctx, in.Queue, s)
	if prob != nil {
		return nil, prob
	}
	out := &stepOutput{Body: wire.SteppedForm{Results: make([]wire.ResultForm, len(done.Results)), Items: newLeasedForms(done.Items)}}
	for i := range done.Results {
		out.Body.Results[i] = newResultForm(&done.Results[i])
	}
	return out, nil
}

// step does a step on a queue, and waits for items if the client asks for that.
func (h *Handlers) step(ctx context.Context, name string, s item.Step) (item.Stepped, *wire.Problem) {
	q, prob := h.queue(name)
	if prob != nil {
		return item.Stepped{}, prob
	}
	s.Caller = callerOf(ctx, s.Worker)
	s.By = by(ctx, &s.Caller)
	if prob := mayStep(auth.From(ctx), s.Ops); prob != nil {
		return item.Stepped{}, prob
	}
	done, err := h.stepAndWait(ctx, q, s)
	over := auth.From(ctx).Over()
	if (api.Gone(ctx) || over) && len(done.Items) > 0 && (over || s.RequestID == "") {
		h.giveBack(ctx, q, name, s, done.Items)
	}
	if over && s.Max > 0 {
		return done, api.Unauthorized(auth.From(ctx).Why())
	}
	if err != nil {
		return done, h.queueFailed(ctx, name, "ops", err)
	}
	return done, nil
}

// stepAndWait does a step with a wait. The wait ends when the client's time is over, when the client disconnects, when
// the client's token ends, or when the server stops.
func (h *Handlers) stepAndWait(ctx context.Context, q *view.ServedQueue, s item.Step) (item.Stepped, error) {
	if s.Wait == 0 || s.Max == 0 {
		return q.Step(ctx, s)
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	leave, ok := h.waiters.Enter(cancel)
	if !ok {
		s.Wait = 0
		return q.Step(ctx, s)
	}
	defer leave()
	who := auth.From(ctx)
	defer api.WhenOver(waiting, who, cancel)()
	done, err := q.Step(waiting, s)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil && len(done.Results) == len(s.Ops) {
		return done, nil // The server stops, and the client asks another node.
	}
	return done, err
}

// mayStep returns nil if the caller may do all of the operations. A worker may only act on items that it has leased, so
// its operations need an attempt.
func mayStep(who *auth.Identity, ops []item.Op) *wire.Problem {
	operates := who.Has(api.Operators...)
	for i := range ops {
		if prob := api.MayDo(who, string(ops[i].Kind)+"-item"); prob != nil {
			return prob
		}
		if !operates && ops[i].Attempt == 0 {
			return api.Denied(wire.CodeRoleMissing, "without an attempt this ("+string(ops[i].Kind)+"-item) is for an item that you have not leased; this needs the role "+
				api.OrList(api.RoleNames(api.Operators)))
		}
	}
	return nil
}

// giveBackTimeout is how long a request may go on after its client has disconnected.
const giveBackTimeout = 5 * time.Second

// giveBack releases items that were leased for a client who disconnected before the answer, or whose token has ended.
// If the client disconnected, do not call giveBack for a request with a requestId. The client can repeat such a request
// and get the same items.
func (h *Handlers) giveBack(ctx context.Context, q *view.ServedQueue, name string, s item.Step, items []item.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	back := item.Step{Test: s.Test, Caller: s.Caller, By: s.By, Ops: make([]item.Op, len(items))}
	for i, l := range items {
		back.Ops[i] = item.Op{Kind: item.Release, ID: l.ID, Attempt: l.Attempt, Note: "the client left before it was answered"}
	}
	if _, err := q.Step(ctx, back); err != nil {
		h.log.LogAttrs(ctx, slog.LevelWarn, "Items of a disconnected client could not be released. The items wait until their leases end.", slog.String("queue", name),
			slog.String("worker", s.Worker), slog.Int("items", len(items)), slog.Any("error", err))
	}
}

func newLeasedForms(items []item.Lease) []wire.LeasedForm {
	forms := make([]wire.LeasedForm, len(items))
	for i := range items {
		l := &items[i]
		forms[i] = wire.LeasedForm{
			ID: l.ID, Warehouse: l.Warehouse, Attempt: l.Attempt, Priority: l.Priority, Order: l.Order.String(), Payload: wire.Payload(l.Payload), LeaseUntil: l.Until.UTC(), CreatedAt: l.Created.UTC(),
			Failures: l.Failures, Suspends: l.Suspends,
		}
	}
	return forms
}

// parseTerms parses the terms of a lease.
func parseTerms(t *wire.Terms, worker string, most int) (item.Step, []wire.Fault) {
	s := item.Step{Test: t.Test, Caller: item.Caller{Worker: worker}, RequestID: t.RequestID, Max: most}
	var faults []wire.Fault
	for _, d := range []struct {
		field, text string
		into        *time.Duration
	}{{"wait", t.Wait, &s.Wait}, {"lease", t.Lease, &s.Lease}} {
		var err error
		if *d.into, err = api.ParseSpan(d.text); err != nil {
			faults = append(faults, wire.Fault{Location: "body." + d.field, Message: err.Error()})
		}
	}
	if s.Wait > api.MaxWait {
		faults = append(faults, wire.Fault{Location: "body.wait", Message: "at most 60s"})
	}
	s.Wait = min(s.Wait, api.LongestHold)
	return s, faults
}

// parseStep parses a whole step.
func parseStep(f *wire.StepForm) (item.Step, *wire.Problem) {
	s, faults := parseTerms(&f.Terms, f.Worker, f.Max)
	s.Ops = make([]item.Op, len(f.Ops))
	for i := range f.Ops {
		op, wrong := parseOp(&f.Ops[i])
		for _, w := range wrong {
			faults = append(faults, wire.Fault{Location: "body.ops[" + strconv.Itoa(i) + "]." + w.Location, Message: w.Message})
		}
		s.Ops[i] = op
	}
	if len(faults) > 0 {
		return s, api.InvalidBody(faults)
	}
	return s, nil
}

// orderOf returns the order of a caller: an operation that needs an audit record. The ledger writes the record in one
// transaction with the change: the moves of the items, the pause or the settings. asked has further details for the
// record, or is nil.
func orderOf(ctx context.Context, action, object string, asked any) *item.Order {
	who := auth.From(ctx).Author()
	return &item.Order{By: who.By, Via: string(who.Via), Action: action, Object: object, Asked: api.StateJSON(asked)}
}

// opTerms are the details of operations for the audit record.
type opTerms struct {
	Test  bool `json:"test,omitempty"`
	Force bool `json:"force,omitempty"`
}

// termsOf returns the details of operations, or nil if there are none.
func termsOf(test, force bool) any {
	if !test && !force {
		return nil
	}
	return opTerms{test, force}
}

// orderOfStep returns the order for a step, or nil for a step that only does work.
func orderOfStep(ctx context.Context, queue string, s *item.Step) *item.Order {
	if !slices.ContainsFunc(s.Ops, func(op item.Op) bool { return op.Kind.IsOrder() }) {
		return nil
	}
	return orderOf(ctx, "queue.step", queueObject(queue), termsOf(s.Test, false))
}

// orderOfOp returns the order for an operation, or nil for an operation that is work.
func orderOfOp(ctx context.Context, queue string, test bool, op *item.Op) *item.Order {
	if !op.Kind.IsOrder() {
		return nil
	}
	o := orderOf(ctx, "item."+string(op.Kind), "item:"+queue+":"+op.ID, termsOf(test, op.Force))
	o.Reason = op.Note
	return o
}

func queueObject(queue string) string { return "queue:" + queue }
