package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/time/rate"

	"tallyman/engine"
	"tallyman/internal/api/metrics"
	"tallyman/internal/wire"
	"tallyman/sinks"
	"tallyman/sinks/push"
	"tallyman/sinks/scrub"
)

// pushSink is a push channel with what delivers to it.
type pushSink struct {
	*push.Runner

	settings sinks.ChannelSettings
	close    func() // gives back connections
	health   health
}

// pushSinks are the configured push channels, by name.
type pushSinks map[string]*pushSink

// openPushes makes the push channels. None is asked for anything before there is something to deliver, so one that is down stops
// nothing; one that can never work, for a template that is wrong, does.
func (a *App) openPushes(observer push.Observer) error {
	a.pushes = pushSinks{}
	scrubber := scrub.New(a.cfg.Sinks.SecretTexts()...)
	for name, cfg := range channelsOf(a.cfg.Sinks) {
		channel, err := cfg.Open(sinks.Site{Book: a.ledger, Stdout: a.opts.Stdout, Version: a.opts.Version, Logger: a.log.With("sink", name)})
		if err != nil {
			return fmt.Errorf("sinks.%s: %w", name, err)
		}
		s := &pushSink{settings: cfg, close: channel.Close}
		a.pushes[name] = s
		if s.Runner, err = push.New(a.pushOptions(name, cfg, channel, scrubber, observer)); err != nil {
			return fmt.Errorf("sinks.%s: %w", name, err)
		}
	}
	return nil
}

func (a *App) pushOptions(name string, cfg sinks.ChannelSettings, p sinks.Pusher, scrubber *scrub.Scrubber, observer push.Observer) push.Options {
	limits, batch := cfg.Limits(), cfg.Batching()
	return push.Options{
		Sink: name, Node: a.opts.Node, Ledger: a.ledger, Pusher: p,
		Timeout: limits.Timeout, Concurrency: limits.Concurrency, Rate: rate.Limit(limits.Rate.PerSecond()),
		Breaker:   push.Breaker{Failures: limits.Breaker.Failures, Open: limits.Breaker.Open},
		Batch:     push.Batch{Max: batch.Max, Wait: batch.Wait},
		Silenced:  a.silenced,
		StopGrace: a.opts.StopGrace, Scrubber: scrubber, Observer: observer, Tracer: a.tracer, Logger: a.log, Step: a.opts.Step,
	}
}

// run delivers until ctx ends.
func (p pushSinks) run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, s := range p {
		wg.Go(func() { s.Run(ctx) })
	}
	wg.Wait()
}

func (p pushSinks) closeAll() {
	for _, s := range p {
		s.close()
	}
}

// engineSinks are the push channels as the engine has them.
func (p pushSinks) engineSinks() map[string]engine.Sink {
	list := map[string]engine.Sink{}
	for name, s := range p {
		list[name] = engine.Sink{Push: true, Each: s.settings.IsEach(), Wake: s.Wake}
	}
	return list
}

// measured are the push channels as the metrics have them.
func (p pushSinks) measured() map[string]func() metrics.Push {
	list := map[string]func() metrics.Push{}
	for name, s := range p {
		list[name] = func() metrics.Push {
			now := s.Status()
			return metrics.Push{Breaker: string(now.Breaker), InFlight: now.InFlight, HeldBack: now.HeldBack()}
		}
	}
	return list
}

// reports tell which push channels are well. One that is not keeps nobody from work: its deliveries wait for it.
func (p pushSinks) reports() []wire.Health {
	var list []wire.Health
	for _, name := range slices.Sorted(maps.Keys(p)) {
		s := p[name]
		list = append(list, s.health.report("sink", name, s.fault()))
	}
	return list
}

// fault is nil while the breaker is closed.
func (s *pushSink) fault() error {
	now := s.Status()
	if now.Breaker == push.Closed {
		return nil
	}
	return errors.New(cmp.Or(now.LastError, "it failed"))
}
