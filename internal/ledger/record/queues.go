package record

import (
	"encoding/json"
	"strings"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

// QueueOrder is what an order has changed in a queue, in its record.
type QueueOrder struct {
	At    time.Time       `json:"at"` // when it was done, which may be before it was recorded
	Asked json.RawMessage `json:"asked,omitempty"`
	Done  json.RawMessage `json:"done,omitempty"`
}

// QueueChanged is the record of an order that has changed something in a queue, and who asked for it.
func QueueChanged(c *item.Change) (ledger.Author, *ledger.Change) {
	return ledger.Author{By: c.By, Via: ledger.Via(c.Via)}, &ledger.Change{
		Action: c.Action, Object: c.Object, Reason: c.Reason, After: state(QueueOrder{micros(c.At), c.Asked, c.Done}),
	}
}

// QueuePause is whether a queue gives out items, in a record.
type QueuePause struct {
	Paused bool      `json:"paused"`
	Test   bool      `json:"test,omitempty"` // of the test twin
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at"`
}

// QueuePaused is the record of a queue that was paused or resumed. Of a queue that never was there is no state before.
func QueuePaused(queue string, before, after item.Pause) *ledger.Change {
	name, test := strings.CutSuffix(queue, ledger.TestTwin)
	form := func(p item.Pause) QueuePause { return QueuePause{p.Paused, test, p.By, micros(p.At)} }
	c := &ledger.Change{Action: "queue.resume", Object: "queue:" + name, After: state(form(after))}
	if after.Paused {
		c.Action = "queue.pause"
	}
	if !before.At.IsZero() {
		c.Before = state(form(before))
	}
	return c
}
