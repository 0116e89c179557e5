package view

import (
	"context"
	"time"

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
	form := wire.DeliveryForm{
		ID: d.Seq, Sink: d.Lane.Sink, State: d.State.String(), Flag: int(d.State), Notice: d.Notice, Type: d.Type, Warehouse: d.Where, Rule: d.Rule,
		Status: d.Status, Title: d.Title, Recipients: d.Recipients, Strategy: newStrategyForm(d.Strategy), Attempts: d.Attempts,
		LastError: d.LastError, NextAttempt: wire.Moment(d.Next), Deadline: wire.Moment(d.Deadline), Behind: d.Behind, InFront: d.InFront, HeldBy: d.HeldBy, Node: d.Node,
		CreatedAt: d.Created.UTC(), ExpiresAt: wire.Moment(d.Expires), SentAt: wire.Moment(d.SentAt),
	}
	for _, a := range d.Tried {
		form.LastAttempts = append(form.LastAttempts, wire.AttemptForm{
			At: a.At.UTC(), DurationMS: int64((a.Took + time.Millisecond - 1) / time.Millisecond), Status: a.Status, Refused: a.Refused, Error: a.Error,
		})
	}
	return form
}

func newStrategyForm(s *delivery.Strategy) *wire.StrategyForm {
	if s == nil {
		return nil
	}
	f := &wire.StrategyForm{Kind: string(s.Kind), Retry: s.Retry, Unless: string(s.Unless), Until: string(s.Until)}
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

// ServedSink is a sink as the configuration has it, and how it does.
type ServedSink struct {
	Type string
	// Ready tells why the inbox or a queue takes nothing now; nil of push channels.
	Ready func() error
	// Push is of push channels.
	Push *PushChannel
}

// PushChannel is what the configuration says of a push channel, and how it does on this node.
type PushChannel struct {
	Timeout     time.Duration
	Concurrency int
	Rate        string // as the configuration has it: 50/s, none
	Failures    int    // that open the breaker
	Open        time.Duration
	BatchMax    int // 1 = each delivery goes alone
	BatchWait   time.Duration
	Status      func() PushStatus
}

// PushStatus is how a push channel does on this node.
type PushStatus struct {
	Breaker  string    // closed, open, half_open
	Since    time.Time // the breaker is so
	Until    time.Time // while it is open: when one delivery is tried
	Failures int       // transient errors in a row

	HeldUntil time.Time // the channel has asked to be left alone (Retry-After); zero = it has not
	InFlight  int       // deliveries that are being tried
	Waiting   int       // deliveries that this node has claimed and will try next

	LastError   string // "" = none yet
	LastErrorAt time.Time
	LastSent    time.Time
}

// PendingCounts is what the ledger counts of deliveries.
type PendingCounts struct {
	States map[string]map[ledger.DeliveryState]int64 // by sink
	Oldest map[string]time.Time                      // by sink
	Failed map[string]time.Time                      // by sink, when the first of its failed deliveries failed
	At     time.Time                                 // by the clock of the rules
}

// CountPending asks the ledger.
func CountPending(ctx context.Context, l ledger.DeliveryCounts, now time.Time) (PendingCounts, error) {
	states, err := l.CountDeliveries(ctx)
	if err != nil {
		return PendingCounts{}, err
	}
	counts := PendingCounts{States: states, At: now}
	if counts.Oldest, err = l.OldestPending(ctx); err != nil {
		return counts, err
	}
	for _, of := range states {
		if of[ledger.DeliveryFailed] > 0 {
			counts.Failed, err = l.OldestFailed(ctx)
			break
		}
	}
	return counts, err
}

// NewSinkForm is how a sink does, with the counts of its deliveries.
func NewSinkForm(name string, s ServedSink, counts *PendingCounts) wire.SinkForm {
	form := wire.SinkForm{Name: name, Type: s.Type, OK: true, Deliveries: newStateCounts(counts.States[name])}
	if since, waits := counts.Oldest[name]; waits && !since.After(counts.At) {
		form.Oldest, form.OldestSecs = wire.Moment(since), Seconds(counts.At.Sub(since))
	}
	form.Failed = wire.Moment(counts.Failed[name])
	if s.Ready != nil {
		if err := s.Ready(); err != nil {
			form.OK, form.Error = false, err.Error()
		}
	}
	p := s.Push
	if p == nil {
		return form
	}
	form.Settings = &wire.PushSettingsForm{
		Timeout: strictyaml.FormatDuration(p.Timeout), Concurrency: p.Concurrency, Rate: p.Rate, Failures: p.Failures,
		Open: strictyaml.FormatDuration(p.Open), BatchMax: p.BatchMax, BatchWait: strictyaml.FormatDuration(p.BatchWait),
	}
	status := p.Status()
	form.Push = newPushStatusForm(&status)
	if status.Breaker != breakerClosed || status.Failures > 0 {
		form.OK, form.Error = false, status.LastError
	}
	return form
}

// breakerClosed is the state in which a breaker lets everything through.
const breakerClosed = "closed"

func newPushStatusForm(s *PushStatus) *wire.PushStatusForm {
	return &wire.PushStatusForm{
		Breaker:   wire.BreakerForm{State: s.Breaker, Since: s.Since.UTC(), Until: wire.Moment(s.Until), Failures: s.Failures},
		HeldUntil: wire.Moment(s.HeldUntil), InFlight: s.InFlight, Waiting: s.Waiting, LastSent: wire.Moment(s.LastSent),
		LastError: s.LastError, LastErrorAt: wire.Moment(s.LastErrorAt),
	}
}

func newStateCounts(counts map[ledger.DeliveryState]int64) wire.StateCountsForm {
	return wire.StateCountsForm{
		Pending: counts[ledger.DeliveryPending], Sent: counts[ledger.DeliverySent], Failed: counts[ledger.DeliveryFailed],
		TimedOut: counts[ledger.DeliveryTimedOut], Canceled: counts[ledger.DeliveryCanceled],
	}
}
