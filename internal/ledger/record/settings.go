package record

import (
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/rules/strictyaml"
)

// QueueSettings are the live settings of a queue in a record. Configured values are left out.
type QueueSettings struct {
	Queue        string    `json:"queue"`
	Lease        string    `json:"lease,omitempty"`
	MaxAttempts  *int      `json:"maxAttempts,omitempty"` // 0 = no limit
	SuspendSteps *[]string `json:"suspendSteps,omitempty"`
	By           string    `json:"by"`
	At           time.Time `json:"at"`
}

// QueueSettingsChanged is the record of changed live settings. For the first change of a queue there is no state
// before.
func QueueSettingsChanged(queue string, before, after *item.LiveSettings) *ledger.Change {
	c := &ledger.Change{Action: "queue.settings", Object: "queue:" + queue, After: state(newQueueSettings(queue, after))}
	if !before.At.IsZero() {
		c.Before = state(newQueueSettings(queue, before))
	}
	return c
}

func newQueueSettings(queue string, s *item.LiveSettings) QueueSettings {
	out := QueueSettings{Queue: queue, MaxAttempts: s.MaxAttempts, By: s.By, At: micros(s.At)}
	if s.Lease != nil {
		out.Lease = strictyaml.FormatDuration(*s.Lease)
	}
	if s.SuspendSteps != nil {
		steps := make([]string, len(s.SuspendSteps))
		for i, d := range s.SuspendSteps {
			steps[i] = strictyaml.FormatDuration(d)
		}
		out.SuspendSteps = &steps
	}
	return out
}
