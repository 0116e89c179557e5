package tallyman

import (
	"errors"
	"time"

	"tallyman/clients/go/api"
)

// Outcome is an error that a handler of items returns to report an outcome of its own. [FailAfter], [GiveBack],
// [Suspend], [StoreFor] and [PassTo] make outcomes.
type Outcome struct { //nolint:errname // An outcome of an item, not a fault.
	op     api.OpOp
	delay  time.Duration
	worker string
	note   string
}

// Error returns the operation and the note.
func (o *Outcome) Error() string { return string(o.op) + ": " + o.note }

// FailAfter reports that the item has failed. The item is ready again after the delay, or dead after max_attempts. Any
// other error of a handler does the same without a delay.
func FailAfter(delay time.Duration, note string) error {
	return &Outcome{op: api.OpOpNack, delay: delay, note: note}
}

// GiveBack puts the item back to its place in the queue. This does not count as a failure.
func GiveBack(note string) error { return &Outcome{op: api.OpOpRelease, note: note} }

// Suspend suspends the item for the next of the queue's suspend_steps. If all steps are used, the item has failed.
func Suspend(note string) error { return &Outcome{op: api.OpOpSuspend, note: note} }

// StoreFor stores the item for a time.
func StoreFor(d time.Duration, note string) error {
	return &Outcome{op: api.OpOpStore, delay: d, note: note}
}

// PassTo assigns the item to one worker: <subject>/<worker>, or to all workers of a <subject>.
func PassTo(worker, note string) error {
	return &Outcome{op: api.OpOpAssign, worker: worker, note: note}
}

// noteBytes is the maximum length of a note in the queue.
const noteBytes = 500

// opOf returns the operation for a handler's error.
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
