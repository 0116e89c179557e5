package tallyman

import (
	"errors"
	"time"

	"tallyman/clients/go/api"
)

// Outcome is what a handler of items returns as its error where an item is neither done nor failed.
type Outcome struct { //nolint:errname // it says what becomes of an item, and is no fault
	op     api.OpOp
	delay  time.Duration
	worker string
	note   string
}

// Error says what becomes of the item, and why.
func (o *Outcome) Error() string { return string(o.op) + ": " + o.note }

// FailAfter has failed the item: it is ready again after the delay, or dead after max_attempts. Any other error of a handler does the same without a delay.
func FailAfter(delay time.Duration, note string) error {
	return &Outcome{op: api.OpOpNack, delay: delay, note: note}
}

// GiveBack puts the item back to its place in the queue. That is no failure.
func GiveBack(note string) error { return &Outcome{op: api.OpOpRelease, note: note} }

// Suspend puts the item off by the next of the queue's suspend_steps. Where it was suspended too often it has failed.
func Suspend(note string) error { return &Outcome{op: api.OpOpSuspend, note: note} }

// StoreFor puts the item away for a time.
func StoreFor(d time.Duration, note string) error {
	return &Outcome{op: api.OpOpStore, delay: d, note: note}
}

// PassTo gives the item to one worker alone: <subject>/<worker>, or <subject> for all its workers.
func PassTo(worker, note string) error {
	return &Outcome{op: api.OpOpAssign, worker: worker, note: note}
}

// noteBytes is how much of a note the queue keeps.
const noteBytes = 500

// opOf is the operation that a handler's error asks for.
func opOf(err error) api.Op {
	if err == nil {
		return api.Op{Op: api.OpOpAck}
	}
	var o *Outcome
	if !errors.As(err, &o) {
		o = &Outcome{op: api.OpOpNack, note: err.Error()}
	}
	op := api.Op{Op: o.op, Note: optional(clean(o.note)), Worker: optional(o.worker)}
	if o.delay > 0 {
		op.Delay = seconds(o.delay)
	}
	return op
}
