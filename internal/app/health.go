package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tallyman/internal/wire"
)

// pingTimeout bounds the question whether a part is well, so that one that hangs does not hide the others.
const pingTimeout = 2 * time.Second

// health remembers since when a part is as it is.
type health struct {
	mu    sync.Mutex
	known bool
	ok    bool
	since time.Time
}

// report takes what was just found.
func (h *health) report(part, name string, err error) wire.Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ok := err == nil; !h.known || ok != h.ok {
		h.known, h.ok, h.since = true, ok, time.Now().UTC()
	}
	since := h.since
	r := wire.Health{Part: part, Name: name, OK: h.ok, Since: &since}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

func (a *App) pingLedger(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := a.ledger.Ping(ctx); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// ready tells what keeps the node from its work. A source that is out of reach does not: it concerns its own rules.
func (a *App) ready(ctx context.Context) error {
	errs := []error{a.pingLedger(ctx), a.index.inbox.Ready()}
	if taken, fault := a.book.taken(); !taken && fault != nil {
		errs = append(errs, fmt.Errorf("rules: %w", fault)) // none runs; later on the last good ones do
	}
	for _, name := range slices.Sorted(maps.Keys(a.index.queues)) {
		if err := a.index.queues[name].Ready(); err != nil {
			errs = append(errs, fmt.Errorf("queue %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
