package app

import (
	"fmt"
	"maps"
	"slices"

	"tallyman/internal/api/metrics"
	"tallyman/internal/api/view"
	"tallyman/internal/config"
	"tallyman/sinks/queue"
)

// openQueues makes the configured queues. With the inbox they share what is said of Redis: the client, and the watch over its
// connections.
func (ix *indexes) openQueues(configured config.Sinks, shared queue.Options) error {
	ix.queues = map[string]*workQueue{}
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		s, ok := configured[name].(*queue.Settings)
		if !ok {
			continue
		}
		q, err := queue.New(s.Options(name, shared))
		if err != nil {
			return fmt.Errorf("sinks.%s: %w", name, err)
		}
		ix.queues[name] = &workQueue{Queue: q, config: s}
	}
	return nil
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

	config *queue.Settings
	health health
}

// settings are shown to those who ask the API.
func (s *workQueue) settings() view.QueueSettings {
	return view.QueueSettings{
		Timezone: s.config.Timezone.String(), Lease: s.config.Lease, MaxAttempts: s.config.MaxAttempts,
		Dedupe: s.config.Dedupe.String(), SuspendSteps: s.config.SuspendSteps,
	}
}
