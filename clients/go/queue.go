package tallyman

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"tallyman/clients/go/api"
)

// Queue is a queue whose items a program handles.
type Queue struct {
	Client      *Client
	Name        string        // Name of the queue.
	Worker      string        // Name of the worker. Workers of one token that run at the same time need different names. Default: host and process id.
	Concurrency int           // Items that are handled at a time. Default: 1.
	Prefetch    int           // Items that are leased in advance. Default: 0.
	Lease       time.Duration // Time after which another worker gets the items of a dead worker. A live worker extends its leases. Default: one minute.
	Grace       time.Duration // Time for handlers to finish after a stop; then their contexts end. Default: no limit.
	Test        bool          // Use the test twin.
	Logger      *slog.Logger  // Logs failed attempts and lost leases. Default: slog.Default.
}

// Item is an item that this worker has leased.
type Item struct {
	api.Leased

	Payload json.RawMessage `json:"payload"`
}

// Decode decodes the payload with json.Unmarshal.
func (it *Item) Decode(into any) error { return json.Unmarshal(it.Payload, into) }

// ErrLeaseLost is the cause of the end of a handler's context when the lease is lost. Another worker may have the item
// then.
var ErrLeaseLost = errors.New("the lease of the item was lost")

// ErrStopping is the cause of the end of handlers' contexts when Work was stopped and Grace is over.
var ErrStopping = errors.New("the worker stops")

// Work leases items and calls the handler for each until ctx ends. An item is done if the handler returns nil, and has
// failed if the handler returns an error or panics. The errors [Suspend], [StoreFor], [GiveBack], [PassTo] and
// [FailAfter] report other outcomes. Work extends the lease while the handler works.
//
// When ctx ends, Work leases no more items. Handlers finish with contexts of their own, and their outcomes are
// reported. Items that were not begun go back to the queue. Then Work returns nil. If the service refuses to lease
// items, Work handles the items that it has leased, and returns a [ProblemError].
func (q *Queue) Work(ctx context.Context, handle func(ctx context.Context, it Item) error) error {
	w, err := q.newWork(ctx, handle)
	if err != nil {
		return err
	}
	return w.run() //nolint:contextcheck // leases outlive the context, which only stops the work
}

func (q *Queue) newWork(stop context.Context, handle func(context.Context, Item) error) (*work, error) {
	conf := *q
	if conf.Worker == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("name the worker: %w; set Worker", err)
		}
		conf.Worker = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	if conf.Concurrency == 0 {
		conf.Concurrency = 1
	}
	if conf.Lease == 0 {
		conf.Lease = time.Minute
	}
	if conf.Logger == nil {
		conf.Logger = slog.Default()
	}
	if conf.Concurrency < 0 || conf.Prefetch < 0 || conf.Concurrency+conf.Prefetch > maxBatch || conf.Lease < 0 || conf.Grace < 0 {
		return nil, fmt.Errorf("options of a queue: Concurrency, Prefetch, Lease and Grace must not be negative, and Concurrency plus Prefetch must be at most %d", maxBatch)
	}
	room := conf.Concurrency + conf.Prefetch
	w := &work{Queue: conf, stop: stop, handle: handle, room: make(chan struct{}, room), ready: make(chan *heldItem, room), all: map[*heldItem]bool{}}
	w.ctx, w.cancel = context.WithCancelCause(context.WithoutCancel(stop))
	return w, nil
}

// maxBatch is the maximum number of items or operations in a request.
const maxBatch = 1000
