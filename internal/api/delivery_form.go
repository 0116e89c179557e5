package api

import (
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

func newDeliveryForms(list []ledger.DeliveryRecord) []wire.DeliveryForm {
	forms := make([]wire.DeliveryForm, len(list))
	for i := range list {
		forms[i] = newDeliveryForm(&list[i])
	}
	return forms
}

func newDeliveryForm(d *ledger.DeliveryRecord) wire.DeliveryForm {
	return wire.DeliveryForm{
		ID: d.Seq, Sink: d.Lane.Sink, State: d.State.String(), Flag: int(d.State), Notice: d.Notice, Type: d.Type, Warehouse: d.Where, Rule: d.Rule,
		Status: d.Status, Title: d.Title, Recipients: d.Recipients, Strategy: newStrategyForm(d.Strategy), Attempts: d.Attempts,
		LastError: d.LastError, NextAttempt: wire.Moment(d.Next), Deadline: wire.Moment(d.Deadline), Behind: d.Behind, InFront: d.InFront, HeldBy: d.HeldBy, Node: d.Node,
		CreatedAt: d.Created.UTC(), ExpiresAt: wire.Moment(d.Expires), SentAt: wire.Moment(d.SentAt),
	}
}

func newStrategyForm(s *delivery.Strategy) *wire.StrategyForm {
	if s == nil {
		return nil
	}
	f := &wire.StrategyForm{Kind: string(s.Kind), Retry: s.Retry, Unless: string(s.Unless)}
	switch {
	case s.Kind == delivery.Timed:
		f.Within = strictyaml.FormatDuration(s.Within)
	case s.Kind != delivery.Delayed:
	case !s.At.IsZero():
		f.At = wire.Moment(s.At)
	default:
		f.Delay = strictyaml.FormatDuration(s.Delay)
	}
	return f
}

// deliveryID is a delivery's number, read as text so that a bad one gets the code that it has everywhere.
type deliveryID string

// Schema says what the text has to be.
func (deliveryID) Schema(huma.Registry) *huma.Schema {
	least := 1.0
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: &least}
}

func (id deliveryID) parse() (int64, bool) {
	n, err := strconv.ParseInt(string(id), 10, 64)
	return n, err == nil && n > 0
}

// deliveryStates are all of them, in the order of their numbers.
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

// stateNames lists the states for people.
func stateNames() string {
	names := make([]string, len(deliveryStates))
	for i, s := range deliveryStates {
		names[i] = s.String()
	}
	return strings.Join(names, ", ")
}
