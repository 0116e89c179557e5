package wire

import (
	"encoding/xml"
	"time"
)

// SettingsForm is the settings of a queue and its test twin.
type SettingsForm struct {
	Timezone     string   `json:"timezone" xml:"timezone"`
	Lease        string   `json:"lease" xml:"lease"`
	MaxAttempts  int      `json:"maxAttempts" xml:"maxAttempts" doc:"number of failures after which an item is dead; 0 = an item never becomes dead"`
	Dedupe       string   `json:"dedupe" xml:"dedupe" doc:"how long an item holds its dedupe key: until_done, day, or a duration"`
	SuspendSteps []string `json:"suspendSteps" xml:"suspendSteps>step" doc:"length of an item's first suspension, then of each further one" nullable:"false"`

	Events *ItemEventsForm `json:"events,omitempty" xml:"events,omitempty" doc:"the events of the queue's items that a push channel gets. Items of the test twin cause no events"`
}

// ItemEventsForm names the sink that gets events of items, and the events.
type ItemEventsForm struct {
	Sink string   `json:"sink" xml:"sink"`
	On   []string `json:"on" xml:"on>event" enum:"ready_again,assigned,dead,done,removed" nullable:"false"`
}

// QueueSettingsForm is the settings of a queue and where they come from.
type QueueSettingsForm struct {
	XMLName    xml.Name     `json:"-" xml:"queueSettings"`
	Queue      string       `json:"queue" xml:"queue"`
	InForce    SettingsForm `json:"inForce" xml:"inForce" doc:"the settings in force, also for the test twin"`
	Configured SettingsForm `json:"configured" xml:"configured" doc:"the settings in the configuration of the node that answers"`
	Live       []string     `json:"live" xml:"live>setting" enum:"lease,maxAttempts,suspendSteps" doc:"names of the settings in force that an operator has set" nullable:"false"`
	By         string       `json:"by,omitempty" xml:"by,omitempty" doc:"the user or service that last set or reset one of the settings"`
	At         *time.Time   `json:"at,omitempty" xml:"at,omitempty"`
}

// SettingsAsk changes settings of a queue. A setting that is left out stays as it is.
type SettingsAsk struct {
	Lease        *string  `json:"lease,omitempty" doc:"how long a worker holds an item, where the worker asks for no other lease: a duration in s, m, h, d, from 1s to 24h" example:"2m"`
	MaxAttempts  *int     `json:"maxAttempts,omitempty" minimum:"0" doc:"number of failures after which an item is dead; 0 = an item never becomes dead"`
	SuspendSteps []string `json:"suspendSteps,omitzero" maxItems:"100" nullable:"false" doc:"length of an item's first suspension, then of each further one: durations in s, m, h, d, from 1s to 366d; empty = no item can be suspended"`
	Reset        []string `json:"reset,omitempty" maxItems:"3" nullable:"false" enum:"lease,maxAttempts,suspendSteps" doc:"settings that take their configured values again"`
}
