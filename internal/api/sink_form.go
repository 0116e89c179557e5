package api

import (
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

func newSinkForm(name string, s ServedSink, counts map[ledger.DeliveryState]int64) wire.SinkForm {
	form := wire.SinkForm{Name: name, Type: s.Type, OK: true, Deliveries: newStateCounts(counts)}
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
	if status.Breaker != breakerClosed {
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
