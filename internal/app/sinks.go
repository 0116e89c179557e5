package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"golang.org/x/time/rate"

	"tallyman/engine"
	"tallyman/internal/api/metrics"
	"tallyman/internal/api/send"
	"tallyman/internal/api/view"
	"tallyman/internal/config"
	"tallyman/internal/delivery"
	"tallyman/internal/wire"
	"tallyman/sinks"
	"tallyman/sinks/inbox"
	"tallyman/sinks/push"
	"tallyman/sinks/queue"
	"tallyman/sinks/scrub"
)

// pushSink is a push channel and the runner that delivers to it.
type pushSink struct {
	*push.Runner

	settings sinks.ChannelSettings
	close    func() // Closes connections.
	health   health
}

// pushSinks are the configured push channels, keyed by sink.
type pushSinks map[string]*pushSink

// openPushes makes the push channels. openPushes contacts none of them, so a channel that is down does not stop the
// start. A channel that can never work, such as one with a broken template, stops the start.
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
		Sink: name, Session: a.session, Ledger: a.ledger, Pusher: &eventPusher{Pusher: p, sink: name, queues: a.index.queues, log: a.log},
		Timeout: limits.Timeout, Concurrency: limits.Concurrency, Rate: rate.Limit(limits.Rate.PerSecond()),
		Breaker:   push.Breaker{Failures: limits.Breaker.Failures, Open: limits.Breaker.Open},
		Batch:     push.Batch{Max: batch.Max, Wait: batch.Wait},
		Silenced:  a.silenced,
		StopGrace: a.opts.StopGrace, Scrubber: scrubber, Observer: observer, Tracer: a.tracer, Logger: a.log, Step: a.opts.Step,
	}
}

// run runs all runners until ctx ends.
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

// engineSinks returns the engine's view of the push channels.
func (p pushSinks) engineSinks() map[string]engine.Sink {
	list := map[string]engine.Sink{}
	for name, s := range p {
		list[name] = engine.Sink{Push: true, Each: s.settings.IsEach(), Address: s.settings.NeedsAddress(), Wake: s.Wake}
	}
	return list
}

// measured returns the metrics' view of the push channels.
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

// reports returns the health of each push channel. A channel that is not well does not make the node unready: only its
// own deliveries wait.
func (p pushSinks) reports() []wire.Health {
	var list []wire.Health
	for _, name := range slices.Sorted(maps.Keys(p)) {
		s := p[name]
		list = append(list, s.health.report("sink", name, s.fault()))
	}
	return list
}

// fault returns the last error of the channel. Nil means the breaker is closed, and no call has failed since the last
// success.
func (s *pushSink) fault() error {
	now := s.Status()
	if now.Breaker == push.Closed && now.Failures == 0 {
		return nil
	}
	return errors.New(cmp.Or(now.LastError, "the channel failed"))
}

// nobody is an address book without entries.
type nobody struct{}

func (nobody) Subscribers(context.Context, []string) (map[string]delivery.Subscriber, error) {
	return map[string]delivery.Subscriber{}, nil
}

// channelsOf yields the push channels, sorted by name.
func channelsOf(configured config.Sinks) iter.Seq2[string, sinks.ChannelSettings] {
	return func(yield func(string, sinks.ChannelSettings) bool) {
		for _, name := range slices.Sorted(maps.Keys(configured)) {
			if s, ok := configured[name].(sinks.ChannelSettings); ok && !yield(name, s) {
				return
			}
		}
	}
}

// sinks returns the engine's view of all sinks: the inbox, the queues and the push channels.
func (a *App) sinks() map[string]engine.Sink {
	sinks := a.pushes.engineSinks()
	sinks[a.index.sink] = engine.Sink{Sink: a.index.inbox, Inbox: true}
	for name, q := range a.index.queues {
		sinks[name] = engine.Sink{Sink: q}
	}
	return sinks
}

// takes returns a function that says why the inbox or a queue takes no deliveries: Redis is out of reach, or the last
// calls failed.
func (a *App) takes(sink string, ready func() error) func() error {
	return func() error {
		if err := ready(); err != nil {
			return err
		}
		return a.engine.SinkFault(sink)
	}
}

// servedSinks returns the API's view of the sinks.
func (a *App) servedSinks() map[string]view.ServedSink {
	list := map[string]view.ServedSink{a.index.sink: {Type: inbox.TypeName, Ready: a.takes(a.index.sink, a.index.inbox.Ready)}}
	for name, q := range a.index.queues {
		list[name] = view.ServedSink{Type: queue.TypeName, Ready: a.takes(name, q.Ready)}
	}
	for name, s := range a.pushes {
		list[name] = view.ServedSink{Type: s.settings.TypeName(), Push: s.channel()}
	}
	return list
}

// channel returns the API's view of the push channel.
func (s *pushSink) channel() *view.PushChannel {
	p, batch := s.settings.Limits(), s.settings.Batching()
	return &view.PushChannel{
		Timeout: p.Timeout, Concurrency: p.Concurrency, Rate: p.Rate.String(), Failures: p.Breaker.Failures, Open: p.Breaker.Open,
		BatchMax: batch.Max, BatchWait: batch.Wait, Status: s.shown,
	}
}

// shown returns the API's view of the channel's status on this node.
func (s *pushSink) shown() view.PushStatus {
	now := s.Status()
	return view.PushStatus{
		Breaker: string(now.Breaker), Since: now.Since, Until: now.Until, Failures: now.Failures, HeldUntil: now.HeldUntil,
		InFlight: now.InFlight, Waiting: now.Waiting, LastError: now.LastError, LastErrorAt: now.LastErrorAt, LastSent: now.LastSent,
	}
}

// sends returns what the API needs so that business systems can send notices through this node.
func (a *App) sends() send.Sends {
	targets, addresses := map[string]send.TargetKind{}, map[string]string{}
	for name, s := range a.sinks() {
		targets[name], addresses[name] = targetKind(&s), s.Address
	}
	return send.Sends{Send: a.ledger.Send, Sent: a.ledger.Sent, Wake: a.engine.Wake, Targets: targets, Addresses: addresses, Now: a.opts.Clock.Now}
}

func targetKind(s *engine.Sink) send.TargetKind {
	switch {
	case s.Inbox:
		return send.TargetInbox
	case s.Each:
		return send.TargetEach
	case s.Push:
		return send.TargetPush
	default:
		return send.TargetQueue
	}
}
