package config

import (
	"fmt"
	"strings"
	"time"

	"tallyman/rules/strictyaml"
)

// The codes of queues.
const (
	CodeTimezone = "bad_timezone"
	CodeDedupe   = "bad_dedupe"
)

// QueueSink is what a sink of type queue has beside its type. Everything is set.
type QueueSink struct {
	Timezone     *time.Location  // of the days of dedupe
	Lease        time.Duration   // how long a worker has an item, where it asks for nothing else
	MaxAttempts  int             // failures after which an item is dead
	Dedupe       Dedupe          // how long an item holds its dedupe key
	SuspendSteps []time.Duration // the first and further suspends of an item; empty = none may be suspended
}

// Dedupe is a window of dedupe: until the item is done where both are zero.
type Dedupe struct {
	Day bool          // the day in which the item was created
	For time.Duration // this long from its creation
}

// The ways to write a window that is no duration.
const (
	dedupeUntilDone = "until_done"
	dedupeDay       = "day"
)

// String is the window as the configuration has it.
func (d Dedupe) String() string {
	switch {
	case d.Day:
		return dedupeDay
	case d.For > 0:
		return strictyaml.FormatDuration(d.For)
	default:
		return dedupeUntilDone
	}
}

// The bounds of what a queue takes.
const (
	leastLease  = time.Second
	longestHold = 366 * day // of a dedupe key, or of a suspend
)

// defaultQueue is what a queue has where nothing is said.
func defaultQueue() *QueueSink {
	return &QueueSink{
		Timezone: time.UTC, Lease: time.Minute, MaxAttempts: 5, SuspendSteps: []time.Duration{2 * time.Hour, 12 * time.Hour},
	}
}

// fields reads the queue's.
func (q *QueueSink) fields() map[string]field {
	return map[string]field{
		"timezone":      timezone(&q.Timezone),
		"lease":         durationUpTo(&q.Lease, leastLease, day),
		"max_attempts":  number(&q.MaxAttempts, 1),
		"dedupe":        dedupe(&q.Dedupe),
		"suspend_steps": durations(&q.SuspendSteps, time.Second, longestHold),
	}
}

// timezone reads an IANA name. Local is refused: it differs from node to node.
func timezone(dst **time.Location) field {
	return func(d *decoder, at path, v any) {
		name, ok := d.text(at, v)
		if !ok {
			return
		}
		zone, err := time.LoadLocation(name)
		if err != nil || name == "" || strings.EqualFold(name, "local") {
			d.fail(at, CodeTimezone, fmt.Sprintf("%s: unknown timezone %q", at, name), "an IANA name such as Europe/Berlin or UTC")
			return
		}
		*dst = zone
	}
}

func dedupe(dst *Dedupe) field {
	return func(d *decoder, at path, v any) {
		s, ok := d.scalar(at, v, "until_done, day, or a duration")
		if !ok {
			return
		}
		switch s {
		case dedupeUntilDone:
			*dst = Dedupe{}
			return
		case dedupeDay:
			*dst = Dedupe{Day: true}
			return
		}
		if _, err := strictyaml.ParseDuration(s); err != nil {
			d.fail(at, CodeDedupe, fmt.Sprintf("%s cannot be %q", at, s), dedupeHint(s, err))
			return
		}
		window := Dedupe{}
		durationUpTo(&window.For, time.Second, longestHold)(d, at, v)
		*dst = window
	}
}

// dedupeHint says what is wrong with a duration, where it was meant as one.
func dedupeHint(s string, err error) string {
	const forms = "until_done, day, or a duration such as 4h"
	if s != "" && strings.ContainsAny(s[:1], "-0123456789") {
		return err.Error()
	}
	return forms
}
