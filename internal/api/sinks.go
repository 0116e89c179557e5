package api

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

// ServedSink is a sink as the configuration has it, and how it does.
type ServedSink struct {
	Type string
	// Ready tells why the inbox or a queue takes nothing now; nil of push channels.
	Ready func() error
	// Push is of push channels.
	Push *PushChannel
}

// PushChannel is what the configuration says of a push channel, and how it does on this node.
type PushChannel struct {
	Timeout     time.Duration
	Concurrency int
	Rate        string // as the configuration has it: 50/s, none
	Failures    int    // that open the breaker
	Open        time.Duration
	BatchMax    int // 1 = each delivery goes alone
	BatchWait   time.Duration
	Status      func() PushStatus
}

// PushStatus is how a push channel does on this node.
type PushStatus struct {
	Breaker  string    // closed, open, half_open
	Since    time.Time // the breaker is so
	Until    time.Time // while it is open: when one delivery is tried
	Failures int       // transient errors in a row

	HeldUntil time.Time // the channel has asked to be left alone (Retry-After); zero = it has not
	InFlight  int       // deliveries that are being tried
	Waiting   int       // deliveries that this node has claimed and will try next

	LastError   string // "" = none yet
	LastErrorAt time.Time
	LastSent    time.Time
}

type (
	sinkInput struct {
		Name string `path:"sink" doc:"its name in the configuration" example:"gateway"`
	}
	sinksOutput struct{ Body wire.SinksForm }
	sinkOutput  struct{ Body wire.SinkForm }
)

func (a *API) registerSinks(operations huma.API) {
	list := operation("list-sinks", http.MethodGet, "/sinks", "deliveries", "List the sinks, and how they do")
	list.Description = "The deliveries are those of all nodes; breaker, limits and errors are those of the node that answers."
	huma.Register(operations, list, a.listSinks)
	huma.Register(operations, operation("get-sink", http.MethodGet, "/sinks/{sink}", "deliveries", "Show a sink, and how it does"), a.getSink)
}

// listSinks answers GET /sinks.
func (a *API) listSinks(ctx context.Context, _ *struct{}) (*sinksOutput, error) {
	counts, err := a.deps.Deliveries.CountDeliveries(ctx)
	if err != nil {
		return nil, a.ledgerFailed(ctx, err)
	}
	out := &sinksOutput{Body: wire.SinksForm{Sinks: []wire.SinkForm{}}}
	for _, name := range slices.Sorted(maps.Keys(a.deps.Sinks)) {
		out.Body.Sinks = append(out.Body.Sinks, newSinkForm(name, a.deps.Sinks[name], counts[name]))
	}
	if !auth.From(ctx).Everywhere() {
		out.Body.Sinks = ownSinks(out.Body.Sinks)
	}
	return out, nil
}

// getSink answers GET /sinks/{sink}.
func (a *API) getSink(ctx context.Context, in *sinkInput) (*sinkOutput, error) {
	sink, ok := a.deps.Sinks[in.Name]
	if !ok {
		return nil, wire.NewProblem(http.StatusNotFound, wire.CodeSinkNotFound,
			"there is no sink "+policy.Quote(in.Name)+"; there are "+strings.Join(slices.Sorted(maps.Keys(a.deps.Sinks)), ", "))
	}
	counts, err := a.deps.Deliveries.CountDeliveries(ctx)
	if err != nil {
		return nil, a.ledgerFailed(ctx, err)
	}
	form := newSinkForm(in.Name, sink, counts[in.Name])
	if !auth.From(ctx).Everywhere() {
		form = ownSinks([]wire.SinkForm{form})[0]
	}
	return &sinkOutput{Body: form}, nil
}

func newStateCounts(counts map[ledger.DeliveryState]int64) wire.StateCountsForm {
	return wire.StateCountsForm{
		Pending: counts[ledger.DeliveryPending], Sent: counts[ledger.DeliverySent], Failed: counts[ledger.DeliveryFailed],
		TimedOut: counts[ledger.DeliveryTimedOut], Canceled: counts[ledger.DeliveryCanceled],
	}
}
