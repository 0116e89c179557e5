package api

import (
	"encoding/xml"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules/strictyaml"
)

// SinkForm is a sink and how it does.
type SinkForm struct {
	XMLName    xml.Name          `json:"-" xml:"sink"`
	Name       string            `json:"name" xml:"name"`
	Type       string            `json:"type" xml:"type"`
	OK         bool              `json:"ok" xml:"ok" doc:"it takes deliveries: of a push channel, its breaker is closed"`
	Error      string            `json:"error,omitempty" xml:"error,omitempty" doc:"why not"`
	Deliveries StateCountsForm   `json:"deliveries" xml:"deliveries" doc:"that the ledger keeps, by state; each is counted up to 10000, which stands for so many or more"`
	Push       *PushStatusForm   `json:"push,omitempty" xml:"push,omitempty" doc:"of a push channel: how it does on the node that answers"`
	Settings   *PushSettingsForm `json:"settings,omitempty" xml:"settings,omitempty" doc:"of a push channel: what the configuration says"`
}

// StateCountsForm is how many deliveries are in each state.
type StateCountsForm struct {
	Pending  int64 `json:"pending" xml:"pending"`
	Sent     int64 `json:"sent" xml:"sent"`
	Failed   int64 `json:"failed" xml:"failed"`
	TimedOut int64 `json:"timedOut" xml:"timedOut"`
	Canceled int64 `json:"canceled" xml:"canceled"`
}

// PushStatusForm is how a push channel does on the node that answers.
type PushStatusForm struct {
	Breaker     BreakerForm `json:"breaker" xml:"breaker"`
	HeldUntil   *time.Time  `json:"heldUntil,omitempty" xml:"heldUntil,omitempty" doc:"the other side has asked to be left alone until then (Retry-After)"`
	InFlight    int         `json:"inFlight" xml:"inFlight" doc:"deliveries that are being tried"`
	Waiting     int         `json:"waiting" xml:"waiting" doc:"deliveries that the node has in hand and tries next"`
	LastSent    *time.Time  `json:"lastSent,omitempty" xml:"lastSent,omitempty" doc:"when the last one succeeded, since the node started"`
	LastError   string      `json:"lastError,omitempty" xml:"lastError,omitempty"`
	LastErrorAt *time.Time  `json:"lastErrorAt,omitempty" xml:"lastErrorAt,omitempty"`
}

// BreakerForm is how a circuit breaker is.
type BreakerForm struct {
	State    string     `json:"state" xml:"state" enum:"closed,open,half_open" doc:"open: nothing is tried; half_open: one delivery is, and decides"`
	Since    time.Time  `json:"since" xml:"since"`
	Until    *time.Time `json:"until,omitempty" xml:"until,omitempty" doc:"open: when one delivery is tried"`
	Failures int        `json:"failures" xml:"failures" doc:"transient errors in a row, while it is not open"`
}

// PushSettingsForm is what the configuration says of a push channel.
type PushSettingsForm struct {
	Timeout     string `json:"timeout" xml:"timeout"`
	Concurrency int    `json:"concurrency" xml:"concurrency" doc:"calls at a time, on each node"`
	Rate        string `json:"rate" xml:"rate" doc:"calls on each node; none is no limit" example:"50/s"`
	Failures    int    `json:"failures" xml:"failures" doc:"that open the breaker"`
	Open        string `json:"open" xml:"open" doc:"how long the breaker stays open"`
	BatchMax    int    `json:"batchMax" xml:"batchMax" doc:"deliveries in a call"`
	BatchWait   string `json:"batchWait" xml:"batchWait" doc:"how long the first of a call waits for others, at most"`
}

// SinksForm is every sink.
type SinksForm struct {
	XMLName xml.Name   `json:"-" xml:"sinks"`
	Sinks   []SinkForm `json:"sinks" xml:"sink" doc:"in the order of their names" nullable:"false"`
}

func newSinkForm(name string, s ServedSink, counts map[ledger.DeliveryState]int64) SinkForm {
	form := SinkForm{Name: name, Type: s.Type, OK: true, Deliveries: newStateCounts(counts)}
	if s.Ready != nil {
		if err := s.Ready(); err != nil {
			form.OK, form.Error = false, err.Error()
		}
	}
	p := s.Push
	if p == nil {
		return form
	}
	form.Settings = &PushSettingsForm{
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

func newPushStatusForm(s *PushStatus) *PushStatusForm {
	return &PushStatusForm{
		Breaker:   BreakerForm{State: s.Breaker, Since: s.Since.UTC(), Until: timeOrNil(s.Until), Failures: s.Failures},
		HeldUntil: timeOrNil(s.HeldUntil), InFlight: s.InFlight, Waiting: s.Waiting, LastSent: timeOrNil(s.LastSent),
		LastError: s.LastError, LastErrorAt: timeOrNil(s.LastErrorAt),
	}
}
