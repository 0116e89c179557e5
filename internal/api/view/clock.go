package view

import (
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// NewClockForm is how the ledger's clock stands.
func NewClockForm(s *ledger.ClockState) *wire.ClockForm {
	return &wire.ClockForm{
		Now: s.Now().UTC(), Term: s.Number, Began: wire.Moment(s.Began), BackSecs: Seconds(s.Back),
		AheadSecs: Seconds(s.Withheld), AheadSince: wire.Moment(s.Since),
	}
}
