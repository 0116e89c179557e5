package view

import (
	"context"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

// NewDeliveryForms converts deliveries.
func NewDeliveryForms(list []ledger.DeliveryRecord) []wire.DeliveryForm {
	forms := make([]wire.DeliveryForm, len(list))
	for i := range list {
		forms[i] = NewDeliveryForm(&list[i])
	}
	return forms
}

// NewDeliveryForm converts a delivery.
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

// ServedSink is a sink: its configuration and its state.
type ServedSink struct {
	Type string
	// Ready returns why the inbox or a queue takes no deliveries now. Ready is nil for push channels.
	Ready func() error
	// Push is only set for push channels.
	Push *PushChannel
}

// PushChannel is a push channel: its configuration and its state on this node.
type PushChannel struct {
	Timeout     time.Duration
	Concurrency int
	Rate        string // As in the configuration: 50/s, none.
	Failures    int    // Failures in a row that open the breaker.
	Open        time.Duration
	BatchMax    int // 1 = each delivery has its own call.
	BatchWait   time.Duration
	Status      func() PushStatus
}

// PushStatus is the state of a push channel on this node.
type PushStatus struct {
	Breaker  string    // closed, open or half_open.
	Since    time.Time // Since when the breaker has this state.
	Until    time.Time // While the breaker is open: when one delivery is tried.
	Failures int       // Transient errors in a row.

	HeldUntil time.Time // No calls until this time, because the channel asked for that (Retry-After); zero = it did not.
	InFlight  int       // Deliveries that are being tried.
	Waiting   int       // Deliveries that this node has claimed and tries next.

	LastError   string // "" = no error yet.
	LastErrorAt time.Time
	LastSent    time.Time
}

// PendingCounts has the counts of deliveries in the ledger.
type PendingCounts struct {
	States map[string]map[ledger.DeliveryState]int64 // By sink: the number of deliveries in each state.
	Oldest map[string]time.Time                      // By sink: since when its oldest pending delivery waits.
	Failed map[string]time.Time                      // By sink: when the first of its failed deliveries failed.
	At     time.Time                                 // By the clock of the rules.
}

// CountPending reads the counts from the ledger.
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

// NewSinkForm converts a sink and the counts of its deliveries.
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

// breakerClosed is the state of a breaker that allows all calls.
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
