package view

import (
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// NewClockForm converts the state of the ledger's clock.
func NewClockForm(s *ledger.ClockState) *wire.ClockForm {
	return &wire.ClockForm{
		Now: s.Now().UTC(), Term: s.Number, Began: wire.Moment(s.Began), BackSecs: Seconds(s.Back),
		AheadSecs: Seconds(s.Withheld), AheadSince: wire.Moment(s.Since),
	}
}
