package deliveries

import (
	"cmp"
	"context"
	"net/http"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/rules/problem"
)

// unknownName returns the problem of a filter whose sink, type or rule does not exist, and nil for any other filter.
// Call unknownName only after the filter has chosen no delivery. A removed sink, type or rule counts as known while the
// ledger has a delivery of it that the caller may see. Operators still cancel such deliveries. A warehouse is never
// unknown: the node has no list of warehouses.
func (h *Handlers) unknownName(ctx context.Context, f *ledger.DeliveryFilter) error {
	if _, ok := h.deps.Sinks[f.Sink]; f.Sink != "" && !ok {
		if err := h.unused(ctx, ledger.DeliveryFilter{Sink: f.Sink, Warehouse: f.Warehouse}, h.sinkNotFound(f.Sink)); err != nil {
			return err
		}
	}
	if f.Type != "" {
		types, err := h.deps.Types(ctx)
		if err != nil {
			return api.LedgerFailed(ctx, h.log, err)
		}
		if _, ok := types[f.Type]; !ok {
			hint := cmp.Or(problem.DidYouMean(f.Type, types.Codes()), "tallyman types list shows the types")
			missing := wire.NewProblem(http.StatusNotFound, wire.CodeUnknownType, "the catalogue has no type "+policy.Quote(f.Type)+"; "+hint)
			if err := h.unused(ctx, ledger.DeliveryFilter{Type: f.Type, Warehouse: f.Warehouse}, missing); err != nil {
				return err
			}
		}
	}
	if f.Rule != "" && auth.From(ctx).Everywhere() { // Other callers must not learn which rules other warehouses have.
		if err := h.deps.Rule(f.Rule); err != nil {
			return h.unused(ctx, ledger.DeliveryFilter{Rule: f.Rule}, wire.NewProblem(http.StatusNotFound, wire.CodeRuleNotFound, err.Error()))
		}
	}
	return nil
}

// unused returns the problem unless the ledger has a delivery of the filter.
func (h *Handlers) unused(ctx context.Context, f ledger.DeliveryFilter, missing *wire.Problem) error {
	f.Limit = 1
	list, err := h.deps.Deliveries.ListDeliveries(ctx, f)
	switch {
	case err != nil:
		return api.LedgerFailed(ctx, h.log, err)
	case len(list) == 0:
		return missing
	}
	return nil
}
