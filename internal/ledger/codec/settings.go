package codec

import (
	"encoding/json"
	"fmt"
	"time"

	"tallyman/internal/item"
)

// QueueSettings is a row of queue_settings. For a queue without a row use NewQueueSettings, not the zero value.
type QueueSettings struct {
	Lease, MaxAttempts int64
	SuspendSteps       string
	By                 string
	At                 int64
}

// asConfigured is the max_attempts of a queue whose configured value counts.
const asConfigured = -1

// NewQueueSettings returns settings in which everything is as configured.
func NewQueueSettings() QueueSettings { return QueueSettings{MaxAttempts: asConfigured} }

// Columns returns pointers to the fields in the order of the columns that the query queue-settings names.
func (s *QueueSettings) Columns() []any {
	return []any{&s.Lease, &s.MaxAttempts, &s.SuspendSteps, &s.By, &s.At}
}

// Settings returns the row in the ledger's form.
func (s *QueueSettings) Settings() (item.LiveSettings, error) {
	out := item.LiveSettings{By: s.By, At: Time(s.At)}
	if s.Lease != 0 {
		out.Lease = new(Span(s.Lease))
	}
	if s.MaxAttempts != asConfigured {
		out.MaxAttempts = new(int(s.MaxAttempts))
	}
	if s.SuspendSteps == "" {
		return out, nil
	}
	var steps []int64
	if err := json.Unmarshal([]byte(s.SuspendSteps), &steps); err != nil {
		return item.LiveSettings{}, fmt.Errorf("decode suspend_steps: %w", err)
	}
	out.SuspendSteps = make([]time.Duration, len(steps))
	for i, us := range steps {
		out.SuspendSteps[i] = Span(us)
	}
	return out, nil
}

// QueueSettingsArgs returns the columns that the query set-queue-settings takes after the queue.
func QueueSettingsArgs(s *item.LiveSettings) ([]any, error) {
	row := NewQueueSettings()
	if s.Lease != nil {
		row.Lease = s.Lease.Microseconds()
	}
	if s.MaxAttempts != nil {
		row.MaxAttempts = int64(*s.MaxAttempts)
	}
	if s.SuspendSteps != nil {
		steps := make([]int64, len(s.SuspendSteps))
		for i, d := range s.SuspendSteps {
			steps[i] = d.Microseconds()
		}
		text, err := json.Marshal(steps)
		if err != nil {
			return nil, fmt.Errorf("encode suspend_steps: %w", err)
		}
		row.SuspendSteps = string(text)
	}
	return []any{row.Lease, row.MaxAttempts, row.SuspendSteps, Text(s.By), Micros(s.At)}, nil
}
