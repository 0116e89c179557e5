package app

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"tallyman/internal/api/metrics"
	"tallyman/internal/api/view"
	"tallyman/internal/config"
	"tallyman/sinks/queue"
)

// openQueues makes the configured queues. With the inbox they share what is said of Redis: the client, and the watch over its
// connections.
func (ix *indexes) openQueues(sinks map[string]config.Sink, shared queue.Options) error {
	ix.queues = map[string]*workQueue{}
	for _, name := range slices.Sorted(maps.Keys(sinks)) {
		if sinks[name].Type != config.SinkQueue {
			continue
		}
		q, err := queue.New(queueOptions(name, sinks[name].Queue, shared))
		if err != nil {
			return fmt.Errorf("sinks.%s: %w", name, err)
		}
		ix.queues[name] = &workQueue{Queue: q, config: sinks[name].Queue}
	}
	return nil
}

func queueOptions(name string, cfg *config.QueueSink, o queue.Options) queue.Options {
	o.Name, o.Timezone, o.Lease, o.MaxAttempts = name, cfg.Timezone, cfg.Lease, cfg.MaxAttempts
	o.Dedupe = queue.Window(cfg.Dedupe)
	o.SuspendSteps = append(make([]time.Duration, 0, len(cfg.SuspendSteps)), cfg.SuspendSteps...) // nil would be the default
	return o
}

// served are the queues as the API has them.
func (ix *indexes) served() map[string]view.ServedQueue {
	list := map[string]view.ServedQueue{}
	for name, q := range ix.queues {
		list[name] = view.ServedQueue{Queue: q, Settings: q.settings()}
	}
	return list
}

// sizers are the queues as the metrics have them.
func (ix *indexes) sizers() map[string]metrics.Sizer {
	list := map[string]metrics.Sizer{}
	for name, q := range ix.queues {
		list[name] = q
	}
	return list
}

// workQueue is a queue, with what /status says of it.
type workQueue struct {
	*queue.Queue

	config *config.QueueSink
	health health
}

// settings are shown to those who ask the API.
func (s *workQueue) settings() view.QueueSettings {
	return view.QueueSettings{
		Timezone: s.config.Timezone.String(), Lease: s.config.Lease, MaxAttempts: s.config.MaxAttempts,
		Dedupe: s.config.Dedupe.String(), SuspendSteps: s.config.SuspendSteps,
	}
}
