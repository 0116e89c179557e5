package operate

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// Clock reads the ledger's clock, and confirms a clock that went ahead.
type Clock struct {
	Ledger ledger.Clock
	// Changed reads the state of the clock again, so that a confirmation is in force on this node before the answer.
	// The other nodes follow.
	Changed func(ctx context.Context) error
	// Now returns the time of the rules, and Machine the time of the machine. The clock of the rules runs Rate times as
	// fast.
	Now, Machine func() time.Time
	Rate         float64
}

// now returns the present moment on both clocks.
func (c *Clock) now() wire.NowForm {
	return wire.NowForm{At: c.Now().UTC(), Machine: c.Machine().UTC(), Rate: c.Rate}
}

func (h *Handlers) registerClock(operations huma.API) {
	get := api.Operation("get-clock", http.MethodGet, "/clock", "operations", "Show the state of the ledger's clock")
	get.Description = "All nodes use the clock of the ledger. When the clock goes back by more than 5 s, a new term begins. When it goes ahead by more than an hour while " +
		"nodes run, the nodes do not use the new time until an operator confirms it."
	huma.Register(operations, get, h.getClock)
	confirm := api.Operation("confirm-clock", http.MethodPost, "/clock/confirm", "operations", "Confirm a ledger's clock that went ahead")
	confirm.Description = "From then on all nodes use the new time. Everything that expires before the new time expires at once. Firings that are due by that time run as catch_up of each rule says."
	huma.Register(operations, confirm, h.confirmClock)
}

// getClock answers GET /clock.
func (h *Handlers) getClock(ctx context.Context, _ *struct{}) (*clockOutput, error) {
	state, err := h.deps.Clock.Ledger.ReadClock(ctx)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	return &clockOutput{Body: *view.NewClockForm(&state)}, nil
}

// confirmClock answers POST /clock/confirm, for callers who see all warehouses.
func (h *Handlers) confirmClock(ctx context.Context, in *clockInput) (*clockOutput, error) {
	if prob := api.InScope(ctx, nil); prob != nil {
		return nil, prob
	}
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	who := auth.From(ctx)
	err := h.deps.Clock.Ledger.ConfirmClock(ctx, who.Author(), reason)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return nil, wire.NewProblem(http.StatusConflict, wire.CodeClockNotAhead, "there is nothing to confirm: the nodes use the clock of the ledger already")
	case err != nil:
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	h.log.LogAttrs(ctx, slog.LevelWarn, "Clock of the ledger was confirmed.", slog.String("by", who.Subject), slog.String("reason", reason))
	ctx, done := context.WithTimeout(ctx, clockWait)
	defer done()
	if err := h.deps.Clock.Changed(ctx); err != nil { // The confirmation is in force within a second anyway.
		h.log.LogAttrs(ctx, slog.LevelWarn, "Clock of the ledger was confirmed, but could not be read afterwards.", slog.Any("error", err))
	}
	return h.getClock(ctx, nil)
}

// clockWait is how long a confirmation waits until this node uses the clock.
const clockWait = 5 * time.Second

type (
	clockInput  struct{ Body *wire.ConfirmClockForm }
	clockOutput struct{ Body wire.ClockForm }
)
