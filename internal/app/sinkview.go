package app

import (
	"tallyman/internal/api/view"
	"tallyman/sinks/inbox"
	"tallyman/sinks/queue"
)

// servedSinks are the configured sinks as the API shows them.
func (a *App) servedSinks() map[string]view.ServedSink {
	list := map[string]view.ServedSink{a.index.sink: {Type: inbox.TypeName, Ready: a.index.inbox.Ready}}
	for name, q := range a.index.queues {
		list[name] = view.ServedSink{Type: queue.TypeName, Ready: q.Ready}
	}
	for name, s := range a.pushes {
		list[name] = view.ServedSink{Type: s.settings.TypeName(), Push: s.channel()}
	}
	return list
}

// channel is the push channel as the API shows it.
func (s *pushSink) channel() *view.PushChannel {
	p, batch := s.settings.Limits(), s.settings.Batching()
	return &view.PushChannel{
		Timeout: p.Timeout, Concurrency: p.Concurrency, Rate: p.Rate.String(), Failures: p.Breaker.Failures, Open: p.Breaker.Open,
		BatchMax: batch.Max, BatchWait: batch.Wait, Status: s.shown,
	}
}

// shown is how the push channel does on this node, as the API shows it.
func (s *pushSink) shown() view.PushStatus {
	now := s.Status()
	return view.PushStatus{
		Breaker: string(now.Breaker), Since: now.Since, Until: now.Until, Failures: now.Failures, HeldUntil: now.HeldUntil,
		InFlight: now.InFlight, Waiting: now.Waiting, LastError: now.LastError, LastErrorAt: now.LastErrorAt, LastSent: now.LastSent,
	}
}
