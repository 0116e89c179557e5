package view

import (
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

// NewDeliveryForms are the deliveries as clients see them.
func NewDeliveryForms(list []ledger.DeliveryRecord) []wire.DeliveryForm {
	forms := make([]wire.DeliveryForm, len(list))
	for i := range list {
		forms[i] = NewDeliveryForm(&list[i])
	}
	return forms
}

// NewDeliveryForm is the delivery as clients see it.
func NewDeliveryForm(d *ledger.DeliveryRecord) wire.DeliveryForm {
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
