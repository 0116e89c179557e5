package deliveries

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

type (
	retryInput  struct{ DeliveryPath }
	cancelInput struct {
		DeliveryPath

		Body *wire.CancelForm
	}
	retryManyInput  struct{ Body wire.DeliveryChoice }
	cancelManyInput struct{ Body wire.CancelManyForm }
	changedOutput   struct{ Body wire.ChangedForm }
)

func (h *Handlers) registerDeliveryChanges(operations huma.API) {
	retry := api.Operation("retry-delivery", http.MethodPost, "/deliveries/{id}/retry", "deliveries", "Try a delivery again, at once")
	retry.Description = "A delivery that failed, timed out or was canceled becomes pending again. A timed delivery gets its full time again. The reason that canceled a " +
		"delivery does not cancel it again. A delivery that waits for its time is tried at once."
	huma.Register(operations, retry, h.retryDelivery)
	huma.Register(operations, api.Operation("cancel-delivery", http.MethodPost, "/deliveries/{id}/cancel", "deliveries",
		"Cancel a pending delivery"), h.cancelDelivery)
	const portions = "The request names deliveries by number or chooses them by a filter. The deliveries of a filter are changed in portions. While the answer has " +
		"`cursor`, there are more: repeat the request with the cursor as the filter's `after`."
	many := api.Operation("retry-deliveries", http.MethodPost, "/deliveries/retry", "deliveries", "Try deliveries again, at once")
	many.Description = portions + " A filter without a state chooses the deliveries that failed or timed out."
	huma.Register(operations, many, h.retryDeliveries)
	cancel := api.Operation("cancel-deliveries", http.MethodPost, "/deliveries/cancel", "deliveries", "Cancel pending deliveries")
	cancel.Description = portions
	huma.Register(operations, cancel, h.cancelDeliveries)
}

// retryDelivery answers POST /deliveries/{id}/retry.
func (h *Handlers) retryDelivery(ctx context.Context, in *retryInput) (*deliveryOutput, error) {
	return h.changeOne(ctx, in.ID, h.retrying(), func(d *ledger.DeliveryRecord) string {
		switch {
		case d.State == ledger.DeliverySent:
			return "it was sent"
		case d.Node != "":
			return "node " + d.Node + " holds the delivery now"
		case d.State == ledger.DeliveryPending && d.Strategy == nil:
			return "it is pending, and is tried until it succeeds"
		case !d.Expires.IsZero() && d.Expires.Before(h.deps.Now()) && (d.Strategy == nil || d.Strategy.Until == ""):
			return "its notice has expired"
		}
		return "it has just changed"
	})
}

// cancelDelivery answers POST /deliveries/{id}/cancel.
func (h *Handlers) cancelDelivery(ctx context.Context, in *cancelInput) (*deliveryOutput, error) {
	form := wire.CancelForm{}
	if in.Body != nil {
		form = *in.Body
	}
	reason, prob := cancelReason(&form)
	if prob != nil {
		return nil, prob
	}
	return h.changeOne(ctx, in.ID, h.canceling(reason), func(d *ledger.DeliveryRecord) string {
		return "it is " + d.State.String() + ", and only pending deliveries can be canceled"
	})
}

// change is an operation on deliveries. change returns the numbers of the deliveries that it changed.
type change func(ctx context.Context, seqs []int64) ([]int64, error)

func (h *Handlers) retrying() change {
	return func(ctx context.Context, seqs []int64) ([]int64, error) {
		changed, lanes, err := h.deps.Deliveries.RetryDeliveries(ctx, auth.From(ctx).Author(), seqs)
		if err != nil {
			return nil, err
		}
		h.deps.Wake(lanes)
		h.logChange(ctx, "retry", changed)
		return changed, nil
	}
}

func (h *Handlers) canceling(reason string) change {
	return func(ctx context.Context, seqs []int64) ([]int64, error) {
		changed, err := h.deps.Deliveries.CancelDeliveries(ctx, auth.From(ctx).Author(), seqs, reason)
		if err == nil {
			h.logChange(ctx, "cancel", changed, slog.String("reason", reason))
		}
		return changed, err
	}
}

// logChange logs a change by an operator.
func (h *Handlers) logChange(ctx context.Context, verb string, changed []int64, more ...slog.Attr) {
	if len(changed) == 0 {
		return
	}
	attrs := append([]slog.Attr{
		slog.String("change", verb), slog.Int("deliveries", len(changed)), slog.Int64("first", slices.Min(changed)), slog.Int64("last", slices.Max(changed)), slog.String("by", api.TraceName(auth.From(ctx).Subject)),
	}, more...)
	h.log.LogAttrs(ctx, slog.LevelInfo, "Deliveries were changed by an operator.", attrs...)
}

// changeOne changes one delivery and answers with its new state. If nothing changed, why returns the reason.
func (h *Handlers) changeOne(ctx context.Context, id deliveryID, do change, why func(*ledger.DeliveryRecord) string) (*deliveryOutput, error) {
	d, prob := h.delivery(ctx, id)
	if prob != nil {
		return nil, prob
	}
	changed, err := do(ctx, []int64{d.Seq})
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	if d, prob = h.delivery(ctx, id); prob != nil {
		return nil, prob
	}
	if len(changed) == 0 {
		return nil, wire.NewProblem(http.StatusConflict, wire.CodeDeliveryUnchanged, "delivery "+string(id)+" stays as it is: "+why(d))
	}
	return &deliveryOutput{Body: view.NewDeliveryForm(d)}, nil
}

// retryDeliveries answers POST /deliveries/retry.
func (h *Handlers) retryDeliveries(ctx context.Context, in *retryManyInput) (*changedOutput, error) {
	f, prob := chosen(&in.Body, []ledger.DeliveryState{ledger.DeliveryFailed, ledger.DeliveryTimedOut})
	if prob != nil {
		return nil, prob
	}
	return h.changeMany(ctx, in.Body.IDs, f, h.retrying())
}

// cancelDeliveries answers POST /deliveries/cancel.
func (h *Handlers) cancelDeliveries(ctx context.Context, in *cancelManyInput) (*changedOutput, error) {
	reason, prob := cancelReason(&in.Body.CancelForm)
	if prob != nil {
		return nil, prob
	}
	f, prob := chosen(&in.Body.DeliveryChoice, []ledger.DeliveryState{ledger.DeliveryPending})
	if prob != nil {
		return nil, prob
	}
	if slices.ContainsFunc(f.States, func(s ledger.DeliveryState) bool { return s != ledger.DeliveryPending }) {
		return nil, api.InvalidBody([]wire.Fault{{Location: "body.filter.state", Message: "only pending deliveries can be canceled"}})
	}
	return h.changeMany(ctx, in.Body.IDs, f, h.canceling(reason))
}

// A request with a filter changes at most portions times portion deliveries. Each portion is a transaction of its own,
// so that no other transaction waits long.
const (
	portion  = maxChangeIDs
	portions = 20
)

// ownIDs returns nil if the caller may change the deliveries. For a caller who does not see all warehouses, ownIDs
// refuses a number without a delivery like a delivery of another warehouse. For other callers the ledger ignores such a
// number.
func (h *Handlers) ownIDs(ctx context.Context, ids []int64) *wire.Problem {
	if auth.From(ctx).Everywhere() {
		return nil
	}
	for _, id := range ids {
		if _, prob := h.delivery(ctx, deliveryID(strconv.FormatInt(id, 10))); prob != nil {
			return prob
		}
	}
	return nil
}

// changeMany changes the named deliveries, or as many deliveries of the filter as one request may change.
func (h *Handlers) changeMany(ctx context.Context, ids []int64, f ledger.DeliveryFilter, do change) (*changedOutput, error) {
	out := &changedOutput{}
	if len(ids) > 0 {
		if prob := h.ownIDs(ctx, ids); prob != nil {
			return nil, prob
		}
		changed, err := do(ctx, ids)
		if err != nil {
			return nil, api.LedgerFailed(ctx, h.log, err)
		}
		out.Body.Changed, out.Body.IDs = len(changed), changed
		return out, nil
	}
	if err := h.deps.Types.Name(ctx, &f.Type); err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	if prob := ownDeliveries(ctx, &f); prob != nil {
		return nil, prob
	}
	f.Limit = portion
	for range portions {
		list, err := h.deps.Deliveries.ListDeliveries(ctx, f)
		if err != nil {
			return nil, api.LedgerFailed(ctx, h.log, err)
		}
		if len(list) == 0 && f.Before == 0 {
			return out, h.unknownName(ctx, &f)
		}
		seqs := make([]int64, len(list))
		for i := range list {
			seqs[i] = list[i].Seq
		}
		changed, err := do(ctx, seqs)
		if err != nil {
			return nil, api.LedgerFailed(ctx, h.log, err)
		}
		out.Body.Changed += len(changed)
		if len(list) < portion {
			return out, nil
		}
		f.Before = seqs[len(seqs)-1]
	}
	out.Body.Cursor = api.NumberCursor(f.Before)
	return out, nil
}

// maxChangeIDs is the maximum number of deliveries that a request can name.
const maxChangeIDs = 1000

// chosen parses the choice of deliveries. Without a state in the filter, the states of the parameter apply; with held,
// only pending deliveries are chosen.
func chosen(c *wire.DeliveryChoice, states []ledger.DeliveryState) (ledger.DeliveryFilter, *wire.Problem) {
	f := ledger.DeliveryFilter{}
	if (c.Filter == nil) == (len(c.IDs) == 0) {
		return f, api.InvalidBody([]wire.Fault{{Location: "body.ids", Message: "give ids or a filter, but not both"}})
	}
	if c.Filter == nil {
		return f, nil
	}
	f = ledger.DeliveryFilter{
		Sink: c.Filter.Sink, Warehouse: c.Filter.Warehouse, Type: c.Filter.Type, Rule: c.Filter.Rule, Notice: c.Filter.Notice,
		Held: c.Filter.Held, Cause: c.Filter.Cause,
	}
	var ok bool
	if f.Before, ok = api.ParseNumberCursor(c.Filter.After); !ok {
		return f, api.InvalidBody([]wire.Fault{{Location: "body.filter.after", Message: policy.Quote(c.Filter.After) + " is not a cursor of this list"}})
	}
	if f.Sink+f.Warehouse+f.Type+f.Rule+f.Notice+f.Cause == "" && !f.Held && len(c.Filter.State) == 0 {
		return f, api.InvalidBody([]wire.Fault{{Location: "body.filter", Message: "the filter has no condition, and would choose every delivery"}})
	}
	if name, value := badFilter(&f); name != "" {
		return f, api.InvalidBody([]wire.Fault{{Location: "body.filter." + name, Message: policy.Quote(value) + " is not a valid name"}})
	}
	for _, name := range c.Filter.State {
		state, _ := deliveryState(name) // The schema has checked the name.
		f.States = append(f.States, state)
	}
	switch {
	case len(f.States) > 0:
	case f.Held:
		f.States = []ledger.DeliveryState{ledger.DeliveryPending}
	default:
		f.States = states
	}
	return f, nil
}

// cancelReason returns the reason of the request, or the default.
func cancelReason(c *wire.CancelForm) (string, *wire.Problem) {
	reason := strings.TrimSpace(c.Reason)
	switch {
	case reason == "":
		return "canceled by an operator", nil
	case utf8.RuneCountInString(reason) > api.MaxReason:
		return "", api.InvalidBody([]wire.Fault{{Location: "body.reason", Message: "it has at most 200 characters"}})
	}
	return reason, nil
}
