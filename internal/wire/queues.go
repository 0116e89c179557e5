package wire

import (
	"encoding/xml"
	"time"
)

// QueuesForm is every queue.
type QueuesForm struct {
	XMLName xml.Name    `json:"-" xml:"queues"`
	Queues  []QueueForm `json:"queues" xml:"queue" doc:"in the order of their names" nullable:"false"`
}

// QueueForm is how full a queue is.
type QueueForm struct {
	XMLName   xml.Name     `json:"-" xml:"queue"`
	Name      string       `json:"name" xml:"name"`
	Test      bool         `json:"test,omitempty" xml:"test,omitempty" doc:"this is the test twin"`
	Ready     int64        `json:"ready" xml:"ready" doc:"that any worker may take"`
	Assigned  int64        `json:"assigned" xml:"assigned" doc:"ready for one worker alone"`
	Leased    int64        `json:"leased" xml:"leased"`
	Delayed   int64        `json:"delayed" xml:"delayed"`
	Suspended int64        `json:"suspended" xml:"suspended"`
	Stored    int64        `json:"stored" xml:"stored"`
	Dead      int64        `json:"dead" xml:"dead"`
	Levels    []LevelForm  `json:"levels" xml:"levels>level" doc:"what is ready, by priority, in the order of service" nullable:"false"`
	Recent    MovedForm    `json:"recent" xml:"recent" doc:"what has moved of late, on all nodes together; begins anew when Redis has lost its data"`
	Paused    bool         `json:"paused" xml:"paused" doc:"nothing is leased until it is resumed"`
	PausedBy  string       `json:"pausedBy,omitempty" xml:"pausedBy,omitempty"`
	PausedAt  *time.Time   `json:"pausedAt,omitempty" xml:"pausedAt,omitempty"`
	Settings  SettingsForm `json:"settings" xml:"settings" doc:"of the configuration"`

	Warehouses []DepthForm `json:"warehouses" xml:"warehouses>warehouse" doc:"of which the figures above are the sums, by name" nullable:"false"`
}

// DepthForm is how much of a queue belongs to one warehouse.
type DepthForm struct {
	Warehouse string `json:"warehouse" xml:"name,attr" doc:"empty: what belongs to no warehouse"`
	Ready     int64  `json:"ready" xml:"ready"`
	Assigned  int64  `json:"assigned" xml:"assigned"`
	Leased    int64  `json:"leased" xml:"leased"`
	Delayed   int64  `json:"delayed" xml:"delayed"`
	Suspended int64  `json:"suspended" xml:"suspended"`
	Stored    int64  `json:"stored" xml:"stored"`
	Dead      int64  `json:"dead" xml:"dead"`
}

// MovedForm is what moved in a queue.
type MovedForm struct {
	Seconds float64 `json:"seconds" xml:"seconds,attr" doc:"that were counted: the last five minutes, and up to ten seconds more"`
	Pushed  int64   `json:"pushed" xml:"pushed" doc:"items that were taken in"`
	Done    int64   `json:"done" xml:"done" doc:"items that were acked or finished"`
	Failed  int64   `json:"failed" xml:"failed" doc:"attempts that were nacked, or whose leases ran out"`
	Dead    int64   `json:"dead" xml:"dead" doc:"items that died of such an attempt"`
}

// LevelForm is the ready part of one priority.
type LevelForm struct {
	Priority      int        `json:"priority" xml:"priority,attr"`
	Ready         int64      `json:"ready" xml:"ready"`
	Oldest        *time.Time `json:"oldest,omitempty" xml:"oldest,omitempty" doc:"when the first of them became ready, of the warehouse where that is longest ago"`
	OldestSeconds float64    `json:"oldestSeconds,omitempty" xml:"oldestSeconds,omitempty" doc:"how long ago that was"`
}

// SettingsForm is what the configuration says of a queue.
type SettingsForm struct {
	Timezone     string   `json:"timezone" xml:"timezone"`
	Lease        string   `json:"lease" xml:"lease"`
	MaxAttempts  int      `json:"maxAttempts" xml:"maxAttempts"`
	Dedupe       string   `json:"dedupe" xml:"dedupe" doc:"how long an item holds its dedupe key: until_done, day, or a duration"`
	SuspendSteps []string `json:"suspendSteps" xml:"suspendSteps>step" doc:"how long the first and the further suspends of an item last" nullable:"false"`
}

// TwinForm says whether the test twin is meant.
type TwinForm struct {
	Test bool `json:"test,omitempty" doc:"the test twin"`
}
