package deliveries

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

// Ledger reads and changes deliveries.
type Ledger interface {
	ledger.DeliveryOperations
	ledger.DeliveryCounts
}

// Deps are the dependencies of the room.
type Deps struct {
	Deliveries Ledger
	Types      api.Types
	Rule       func(id string) error     // Returns nil if the node has the rule.
	Wake       func(lanes []ledger.Lane) // Wakes the lanes and push channels, so that they try the deliveries again.
	Now        func() time.Time          // By the clock of the rules.
	Sinks      map[string]view.ServedSink
	Logger     *slog.Logger
}

// Handlers serves deliveries and sinks.
type Handlers struct {
	deps Deps
	log  *slog.Logger
}

// New makes the room.
func New(deps Deps) *Handlers { return &Handlers{deps, deps.Logger} }

// Register adds the operations.
func (h *Handlers) Register(operations *api.Operations) {
	h.registerDeliveries(operations)
	h.registerSinks(operations)
}

type (
	deliveriesInput struct {
		DeliveryQuery
		Order api.ListOrder         `query:"order" doc:"order of the list: the latest first, or the oldest first"`
		After string                `query:"after" doc:"cursor of the previous page"`
		Limit api.Limit[api.OfList] `query:"limit" doc:"maximum number of deliveries in a page"`

		Language string `header:"Accept-Language" doc:"language of the titles"`
	}
	causesInput struct {
		Warehouse string `query:"warehouse" doc:"only of notices of this warehouse"`
	}
	causesOutput     struct{ Body wire.DeliveryCausesForm }
	deliveryInput    struct{ DeliveryPath }
	deliveriesOutput struct {
		Vary string `header:"Vary"`
		Body wire.DeliveriesForm
	}
	deliveryOutput struct{ Body wire.DeliveryForm }
)

// DeliveryPath names the delivery of a request. The OpenAPI library only looks into exported types.
type DeliveryPath struct {
	ID deliveryID `path:"id" doc:"number of the delivery" example:"4711"`
}

// DeliveryQuery is the filter of a list of deliveries.
type DeliveryQuery struct {
	Sink      string   `query:"sink" doc:"only deliveries to this sink"`
	State     []string `query:"state,explode" doc:"only deliveries in this state; may be repeated: pending, sent, failed, timed_out, canceled" nullable:"false"`
	Held      api.Flag `query:"held" doc:"only pending deliveries that wait although their time has come: a silence withholds them, or an earlier delivery of the same finding must go first"`
	Warehouse string   `query:"warehouse" doc:"only of notices of this warehouse"`
	Type      string   `query:"type" doc:"only of notices of this type: code or id"`
	Rule      string   `query:"rule" doc:"only of notices of this rule"`
	Notice    string   `query:"notice" doc:"only of this notice"`
	Cause     string   `query:"cause" maxLength:"20" doc:"only deliveries that failed or timed out for this cause, as named by GET /deliveries/causes" example:"503"`
}

func (h *Handlers) registerDeliveries(operations huma.API) {
	list := api.Operation("list-deliveries", http.MethodGet, "/deliveries", "deliveries", "List deliveries")
	list.Description = "A delivery is one notice on its way to one sink. The inbox and queues are tried until they take the delivery. Push channels are tried as the strategy " +
		"says."
	huma.Register(operations, list, h.listDeliveries)
	huma.Register(operations, api.Operation("get-delivery", http.MethodGet, "/deliveries/{id}", "deliveries", "Show a delivery"), h.getDelivery)
	causes := api.Operation("list-delivery-causes", http.MethodGet, "/deliveries/causes", "deliveries", "Group failed and timed out deliveries by cause")
	causes.Description = "A cause is the result of the latest attempt: the status of the answer, `timeout`, `unanswered`, or `none` where no attempt was made. A refusal that " +
		"further attempts cannot change is a separate cause: `refused`, with the status after a colon. The list covers up to 10,000 deliveries of each sink and " +
		"state."
	huma.Register(operations, causes, h.listCauses)
	h.registerDeliveryChanges(operations)
}

// listCauses answers GET /deliveries/causes.
func (h *Handlers) listCauses(ctx context.Context, in *causesInput) (*causesOutput, error) {
	f := ledger.DeliveryFilter{Warehouse: in.Warehouse}
	if in.Warehouse != "" && !api.IsName(in.Warehouse) {
		return nil, api.BadParameter("warehouse " + policy.Quote(in.Warehouse) + " is not a valid name")
	}
	if prob := ownDeliveries(ctx, &f); prob != nil {
		return nil, prob
	}
	causes, err := h.deps.Deliveries.DeliveryCauses(ctx, f.Warehouse)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	out := &causesOutput{Body: wire.DeliveryCausesForm{Causes: make([]wire.DeliveryCauseForm, len(causes))}}
	for i := range causes {
		c := &causes[i]
		out.Body.Causes[i] = wire.DeliveryCauseForm{
			Sink: c.Sink, State: c.State.String(), Cause: c.Cause, Refused: ledger.RefusedForGood(c.Cause), Count: c.Count, Last: c.Last, LastError: c.Error,
		}
	}
	return out, nil
}

// listDeliveries answers GET /deliveries.
func (h *Handlers) listDeliveries(ctx context.Context, in *deliveriesInput) (*deliveriesOutput, error) {
	f, prob := in.parse()
	if prob == nil {
		prob = ownDeliveries(ctx, &f)
	}
	if prob != nil {
		return nil, prob
	}
	if err := h.deps.Types.Name(ctx, &f.Type); err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	limit := f.Limit
	f.Limit++ // One more delivery shows whether there is another page.
	list, err := h.deps.Deliveries.ListDeliveries(ctx, f)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	if len(list) == 0 && in.After == "" {
		if err := h.unknownName(ctx, &f); err != nil {
			return nil, err
		}
	}
	out := &deliveriesOutput{Vary: api.Vary[0]}
	if len(list) > limit {
		list = list[:limit]
		out.Body.Cursor = api.OrderedCursor(f.Oldest, api.NumberCursor(list[limit-1].Seq))
	}
	langs := api.Languages(in.Language)
	for i := range list {
		list[i].Title = api.Localize(&notice.Notice{Title: list[i].Title, Texts: list[i].Texts}, langs).Title
	}
	out.Body.Deliveries = view.NewDeliveryForms(list)
	return out, nil
}

// getDelivery answers GET /deliveries/{id}.
func (h *Handlers) getDelivery(ctx context.Context, in *deliveryInput) (*deliveryOutput, error) {
	d, prob := h.delivery(ctx, in.ID)
	if prob != nil {
		return nil, prob
	}
	return &deliveryOutput{Body: view.NewDeliveryForm(d)}, nil
}

// delivery finds the delivery with the number.
func (h *Handlers) delivery(ctx context.Context, id deliveryID) (*ledger.DeliveryRecord, *wire.Problem) {
	seq, ok := id.parse()
	if !ok {
		return nil, deliveryNotFound(id)
	}
	d, err := h.deps.Deliveries.Delivery(ctx, seq)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return nil, deliveryNotFound(id)
	case err != nil:
		return nil, api.LedgerFailed(ctx, h.log, err)
	case !auth.From(ctx).InWarehouse(d.Where):
		return nil, deliveryNotFound(id)
	}
	return &d, nil
}

// ownDeliveries limits a filter to the deliveries that the caller may see.
func ownDeliveries(ctx context.Context, f *ledger.DeliveryFilter) (prob *wire.Problem) {
	if who := auth.From(ctx); !who.Everywhere() {
		f.Warehouse, prob = api.OwnWarehouse(who, "warehouse", f.Warehouse)
	}
	return prob
}

func deliveryNotFound(id deliveryID) *wire.Problem {
	return wire.NewProblem(http.StatusNotFound, wire.CodeDeliveryNotFound, "there is no delivery "+policy.Quote(string(id))+"; the ledger only keeps ended deliveries for its retention time")
}

func (in *deliveriesInput) parse() (ledger.DeliveryFilter, *wire.Problem) {
	f := ledger.DeliveryFilter{Sink: in.Sink, Warehouse: in.Warehouse, Type: in.Type, Rule: in.Rule, Notice: in.Notice, Cause: in.Cause}
	if name, value := badFilter(&f); name != "" {
		return f, api.BadParameter(name + " " + policy.Quote(value) + " is not a valid name")
	}
	for _, name := range in.State {
		state, ok := deliveryState(name)
		if name != "" && !ok {
			return f, api.BadParameter("state " + policy.Quote(name) + " is not one of " + stateNames())
		}
		if name != "" {
			f.States = append(f.States, state)
		}
	}
	var prob *wire.Problem
	if f.Held, prob = in.Held.Parse("held"); prob != nil {
		return f, prob
	}
	if f.Limit, prob = in.Limit.Parse(); prob != nil {
		return f, prob
	}
	if f.Oldest, prob = in.Order.Parse(); prob != nil {
		return f, prob
	}
	cursor, prob := api.ParseOrderedCursor(f.Oldest, in.After)
	if prob != nil {
		return f, prob
	}
	last, ok := api.ParseNumberCursor(cursor)
	if !ok {
		return f, wire.NewProblem(http.StatusBadRequest, wire.CodeBadCursor, "after "+policy.Quote(in.After)+" is not a cursor of this list")
	}
	if f.Oldest {
		f.After = last
	} else {
		f.Before = last
	}
	return f, nil
}

// badFilter returns the first member of the filter whose value cannot be a name, or "" if all are valid.
func badFilter(f *ledger.DeliveryFilter) (name, value string) {
	for _, m := range []struct{ name, value string }{
		{"sink", f.Sink}, {"warehouse", f.Warehouse}, {"type", f.Type}, {"rule", f.Rule}, {"notice", f.Notice},
	} {
		if m.value != "" && !api.IsName(m.value) {
			return m.name, m.value
		}
	}
	if f.Cause != "" && !ledger.CauseFits(f.Cause) {
		return "cause", f.Cause
	}
	return "", ""
}

// deliveryID is the number of a delivery. deliveryID is a text, so that a bad value gets the same code everywhere.
type deliveryID string

// Schema returns the schema of the parameter.
func (deliveryID) Schema(huma.Registry) *huma.Schema {
	least := 1.0
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: &least}
}

func (id deliveryID) parse() (int64, bool) {
	n, err := strconv.ParseInt(string(id), 10, 64)
	return n, err == nil && n > 0
}

// deliveryStates are all states, in the order of their numbers.
var deliveryStates = [...]ledger.DeliveryState{
	ledger.DeliveryPending, ledger.DeliverySent, ledger.DeliveryFailed, ledger.DeliveryTimedOut, ledger.DeliveryCanceled,
}

func deliveryState(name string) (ledger.DeliveryState, bool) {
	for _, s := range deliveryStates {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// stateNames returns a list of the states for an error text.
func stateNames() string {
	names := make([]string, len(deliveryStates))
	for i, s := range deliveryStates {
		names[i] = s.String()
	}
	return strings.Join(names, ", ")
}
