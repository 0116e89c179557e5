package wire

import (
	"encoding/xml"
	"time"
)

// ClockForm is how the ledger's clock stands.
type ClockForm struct {
	XMLName    xml.Name   `json:"-" xml:"clock"`
	Now        time.Time  `json:"now" xml:"now" doc:"the time that nodes go by"`
	Term       int64      `json:"term" xml:"term" doc:"counts how often the clock went back by more than 5 s; firings, and the ids of their notices, are told apart by it"`
	Began      *time.Time `json:"began,omitempty" xml:"began,omitempty" doc:"when the term began, by its clock"`
	BackSecs   float64    `json:"backSeconds,omitempty" xml:"backSeconds,omitempty" doc:"by how much the clock went back when the term began"`
	AheadSecs  float64    `json:"aheadSeconds,omitempty" xml:"aheadSeconds,omitempty" doc:"by how much the clock went ahead while nodes ran; nodes do not go by that, and nothing expires or is pruned by it, until an operator confirms the clock"`
	AheadSince *time.Time `json:"aheadSince,omitempty" xml:"aheadSince,omitempty" doc:"when it went ahead, by the time that nodes go by"`
}

// ConfirmClockForm says why a clock is right.
type ConfirmClockForm struct {
	Reason string `json:"reason,omitempty" maxLength:"200" example:"the time service was down since Friday"`
}
