package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tallyman/internal/ledger"
	"tallyman/sinks"
)

// Engine runs rules and delivers their notices. Make one with New.
type Engine struct {
	opts      Options
	log       *slog.Logger
	types     types
	skew      skew
	workers   slots
	slots     map[string]slots // of the sources
	units     map[string]*unit // of the enabled rules, by ledger.Known
	deliverer map[string]*deliverer
}

// New checks the options and prepares an engine. Nothing is read or run before Run.
func New(o Options) (*Engine, error) {
	opts := o.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	opts.Ledger = bounded{opts.Ledger, opts.Lease}
	e := &Engine{
		opts:      opts,
		log:       opts.Logger,
		types:     types{ledger: opts.Ledger},
		skew:      skew{log: opts.Logger},
		workers:   make(slots, opts.Workers),
		slots:     map[string]slots{},
		units:     map[string]*unit{},
		deliverer: map[string]*deliverer{},
	}
	for name := range opts.Sources {
		e.slots[name] = make(slots, opts.perSource(name))
	}
	for _, r := range opts.Rules {
		if !r.Enabled {
			continue
		}
		u, err := newUnit(e, r, e.slots[r.Source])
		if err != nil {
			return nil, err
		}
		e.units[ledger.Known(r.ID, r.Scope)] = u
	}
	for name, sink := range opts.Sinks {
		if !sink.Push {
			e.deliverer[name] = newDeliverer(e, name, sink.Sink)
		}
	}
	return e, nil
}

// Run runs the rules until ctx is over. Then it starts nothing new, waits StopGrace for what runs and for the
// delivery of what that commits, gives back what has not finished by then, and returns nil. An engine runs once.
func (e *Engine) Run(ctx context.Context) error {
	stop := ctx.Done()
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()

	var runs, loops sync.WaitGroup
	committed := make(chan struct{}) // closed when nothing commits any more
	loops.Go(func() { e.forget(work, stop) })
	for _, u := range e.units {
		runs.Go(func() { u.loop(work, stop) })
	}
	for _, d := range e.deliverer {
		loops.Go(func() { d.loop(work, committed) })
	}
	loops.Go(func() { e.reclaim(work, stop) })
	loops.Go(func() { e.sweep(work, stop) })

	<-stop
	grace := time.AfterFunc(e.opts.StopGrace, func() {
		e.log.Warn("the grace is over: giving back what runs")
		cancel()
	})
	defer grace.Stop()
	runs.Wait()
	close(committed)
	loops.Wait()
	return nil
}

// forget closes the findings of rules and scopes that were removed from the files.
func (e *Engine) forget(ctx context.Context, stop <-chan struct{}) {
	if !e.opts.Complete {
		return
	}
	known := make(map[string]bool, len(e.opts.Rules))
	for _, r := range e.opts.Rules {
		known[ledger.Known(r.ID, r.Scope)] = true
	}
	retry := backoff{first: time.Second, most: time.Minute}
	for {
		n, err := e.opts.Ledger.Forget(ctx, known)
		if err == nil {
			if n > 0 {
				e.log.Info("state of removed rules closed", "rows", n)
			}
			return
		}
		e.log.Warn("state of removed rules could not be closed", "error", fmt.Errorf("forget: %w", err))
		if !pause(ctx, stop, retry.wait()) {
			return
		}
	}
}

// Wake tells the delivery loops of this node that a commit has put something into the lanes. It never blocks.
func (e *Engine) Wake(lanes []sinks.Lane) {
	for _, lane := range lanes {
		if d := e.deliverer[lane.Sink]; d != nil {
			d.wake(lane)
		} else if wake := e.opts.Sinks[lane.Sink].Wake; wake != nil {
			wake()
		}
	}
}
