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

// Queue is a queue of items that a program works on.
type Queue struct {
	Client      *Client
	Name        string        // of the queue
	Worker      string        // tells the workers of one token apart; two that run at a time need two names. Defaults to the host and the process
	Concurrency int           // items that are handled at a time. Defaults to 1
	Prefetch    int           // items that are leased beyond those, and not begun yet. Defaults to 0
	Lease       time.Duration // how soon another worker gets the items of one that died. Leases of live ones are extended. Defaults to a minute
	Grace       time.Duration // how long handlers may go on after a stop; then their contexts end. Defaults to no limit
	Test        bool          // the test twin
	Logger      *slog.Logger  // of failed tries and lost leases. Defaults to slog.Default
}

// Item is an item that this worker has leased.
type Item struct {
	api.Leased

	Payload json.RawMessage `json:"payload"`
}

// Decode reads the payload, as json.Unmarshal does.
func (it *Item) Decode(into any) error { return json.Unmarshal(it.Payload, into) }

// ErrLeaseLost is the cause with which the context of a handler ends when the item is not this worker's any more, so that another may have it.
var ErrLeaseLost = errors.New("the lease of the item was lost")

// ErrStopping is the cause with which the contexts of handlers end when Work was stopped and Grace is over.
var ErrStopping = errors.New("the worker stops")

// Work leases items and hands them to the handler until ctx ends. The item is done when the handler returns nil, and has failed when the handler returns an error;
// [Suspend], [StoreFor], [GiveBack], [PassTo] and [FailAfter] are errors that say something else. A panic is a failure, too. The lease is extended while
// the handler works.
//
// When ctx ends nothing more is leased. Handlers finish, with contexts of their own, and their items are settled; items that were not begun are given
// back. Then Work returns nil. It returns a [ProblemError] where the service refuses to lease, after the same.
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
		return nil, fmt.Errorf("a queue's Concurrency, Prefetch, Lease and Grace are not negative, and Concurrency and Prefetch together are %d at most", maxBatch)
	}
	room := conf.Concurrency + conf.Prefetch
	w := &work{Queue: conf, stop: stop, handle: handle, room: make(chan struct{}, room), ready: make(chan *held, room), all: map[*held]bool{}}
	w.ctx, w.cancel = context.WithCancelCause(context.WithoutCancel(stop))
	return w, nil
}

// maxBatch is how many items or operations a request may have.
const maxBatch = 1000
