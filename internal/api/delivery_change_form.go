package api

import (
	"strings"
	"unicode/utf8"

	"tallyman/internal/ledger"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

// The sizes of a request.
const (
	maxChangeIDs = 1000
	maxReason    = 200 // characters
)

// chosen reads which deliveries are meant, with the states that count where none are named.
func chosen(c *wire.DeliveryChoice, states []ledger.DeliveryState) (ledger.DeliveryFilter, *wire.Problem) {
	f := ledger.DeliveryFilter{}
	if (c.Filter == nil) == (len(c.IDs) == 0) {
		return f, invalidBody([]wire.Fault{{Location: "body.ids", Message: "name some, or say a filter, and not both"}})
	}
	if c.Filter == nil {
		return f, nil
	}
	f = ledger.DeliveryFilter{
		Sink: c.Filter.Sink, Warehouse: c.Filter.Warehouse, Type: c.Filter.Type, Rule: c.Filter.Rule, Notice: c.Filter.Notice,
		Before: c.Filter.Before, Held: c.Filter.Held,
	}
	if f.Sink+f.Warehouse+f.Type+f.Rule+f.Notice == "" && !f.Held && len(c.Filter.State) == 0 {
		return f, invalidBody([]wire.Fault{{Location: "body.filter", Message: "it names nothing, and would choose every delivery"}})
	}
	if name, value := badFilter(&f); name != "" {
		return f, invalidBody([]wire.Fault{{Location: "body.filter." + name, Message: policy.Quote(value) + " cannot be the name of one"}})
	}
	for _, name := range c.Filter.State {
		state, _ := deliveryState(name) // the schema lets no other pass
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

// cancelReason reads the reason; the default is what counts where none is given.
func cancelReason(c *wire.CancelForm) (string, *wire.Problem) {
	reason := strings.TrimSpace(c.Reason)
	switch {
	case reason == "":
		return "canceled by an operator", nil
	case utf8.RuneCountInString(reason) > maxReason:
		return "", invalidBody([]wire.Fault{{Location: "body.reason", Message: "it has at most 200 characters"}})
	}
	return reason, nil
}
