package wire

import (
	"encoding/xml"
	"time"
)

// ClockForm is the state of the ledger's clock.
type ClockForm struct {
	XMLName    xml.Name   `json:"-" xml:"clock"`
	Now        time.Time  `json:"now" xml:"now" doc:"the time that the nodes use"`
	Term       int64      `json:"term" xml:"term" doc:"number of times the clock went back by more than 5 s. Firings and the ids of their notices carry the term, so that they stay distinct"`
	Began      *time.Time `json:"began,omitempty" xml:"began,omitempty" doc:"when the term began, by the clock of the term"`
	BackSecs   float64    `json:"backSeconds,omitempty" xml:"backSeconds,omitempty" doc:"seconds by which the clock went back when the term began"`
	AheadSecs  float64    `json:"aheadSeconds,omitempty" xml:"aheadSeconds,omitempty" doc:"seconds by which the clock went ahead while nodes ran. Until an operator confirms the clock, the nodes do not use the new time, and nothing expires or is pruned by it"`
	AheadSince *time.Time `json:"aheadSince,omitempty" xml:"aheadSince,omitempty" doc:"when the clock went ahead, by the time that the nodes use"`
}

// ConfirmClockForm is the reason of a confirmation of the clock.
type ConfirmClockForm struct {
	Reason string `json:"reason,omitempty" maxLength:"200" example:"the time service was down since Friday"`
}
