package wire

import (
	"encoding/xml"
	"time"
)

// SettingsForm is what holds for a queue and its test twin.
type SettingsForm struct {
	Timezone     string   `json:"timezone" xml:"timezone"`
	Lease        string   `json:"lease" xml:"lease"`
	MaxAttempts  int      `json:"maxAttempts" xml:"maxAttempts" doc:"failures after which an item is dead; 0 = it is never dead"`
	Dedupe       string   `json:"dedupe" xml:"dedupe" doc:"how long an item holds its dedupe key: until_done, day, or a duration"`
	SuspendSteps []string `json:"suspendSteps" xml:"suspendSteps>step" doc:"how long the first and the further suspends of an item last" nullable:"false"`

	Events *ItemEventsForm `json:"events,omitempty" xml:"events,omitempty" doc:"of which events of the queue's items, not of its twin's, a push channel is told"`
}

// ItemEventsForm says who is told of events of items.
type ItemEventsForm struct {
	Sink string   `json:"sink" xml:"sink"`
	On   []string `json:"on" xml:"on>event" enum:"ready_again,assigned,dead,done,removed" nullable:"false"`
}

// QueueSettingsForm is the settings of a queue and where they come from.
type QueueSettingsForm struct {
	XMLName    xml.Name     `json:"-" xml:"queueSettings"`
	Queue      string       `json:"queue" xml:"queue"`
	InForce    SettingsForm `json:"inForce" xml:"inForce" doc:"those that count, for the test twin too"`
	Configured SettingsForm `json:"configured" xml:"configured" doc:"those of the configuration of the node that answers"`
	Live       []string     `json:"live" xml:"live>setting" enum:"lease,maxAttempts,suspendSteps" doc:"which of those in force an operator has set" nullable:"false"`
	By         string       `json:"by,omitempty" xml:"by,omitempty" doc:"who has set or reset some of them last"`
	At         *time.Time   `json:"at,omitempty" xml:"at,omitempty"`
}

// SettingsAsk changes settings of a queue. What it does not name stays as it is.
type SettingsAsk struct {
	Lease        *string  `json:"lease,omitempty" doc:"how long a worker has an item, where the worker asks for no other lease: a duration in s, m, h, d, from 1s to 24h" example:"2m"`
	MaxAttempts  *int     `json:"maxAttempts,omitempty" minimum:"0" doc:"failures after which an item is dead; 0 = it is never dead"`
	SuspendSteps []string `json:"suspendSteps,omitzero" maxItems:"100" nullable:"false" doc:"how long the first and the further suspends of an item last: durations in s, m, h, d, from 1s to 366d; empty = none may be suspended"`
	Reset        []string `json:"reset,omitempty" maxItems:"3" nullable:"false" enum:"lease,maxAttempts,suspendSteps" doc:"these are again as the configuration says"`
}
