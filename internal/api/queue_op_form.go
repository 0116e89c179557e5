package api

import (
	"time"

	"tallyman/internal/item"
	"tallyman/internal/wire"
)

func newResultForm(r *item.Result) wire.ResultForm {
	return wire.ResultForm{Op: string(r.Kind), ID: r.ID, Outcome: string(r.Outcome), State: string(r.State), Due: wire.Moment(r.Due)}
}

// need is what an operation does with a field.
type need uint8

const (
	refused need = iota
	taken
	needed
)

// needs of an operation. What store does with delay it does with days as well.
type needs struct{ attempt, delay, lease, worker, force need }

// needsOf tells what each operation does with the fields.
func needsOf(kind item.OpKind) needs {
	switch kind {
	case item.Ack, item.Release:
		return needs{attempt: needed}
	case item.Nack:
		return needs{attempt: needed, delay: taken}
	case item.Extend:
		return needs{attempt: needed, lease: taken}
	case item.Suspend:
		return needs{attempt: taken}
	case item.Store:
		return needs{attempt: taken, delay: needed}
	case item.Assign:
		return needs{attempt: taken, worker: needed}
	case item.Remove:
		return needs{force: taken}
	case item.Finish, item.Requeue:
	}
	return needs{}
}

// parseOp reads an operation; the location of a fault is the name of its field.
func parseOp(f *wire.OpForm) (item.Op, []wire.Fault) {
	op := item.Op{Kind: item.OpKind(f.Op), ID: f.ID, Attempt: f.Attempt, Force: f.Force, Note: f.Note}
	if f.Worker != nil {
		op.Worker = *f.Worker
	}
	n := needsOf(op.Kind)
	var faults []wire.Fault
	check := func(field string, n need, given bool) {
		switch {
		case n == refused && given:
			faults = append(faults, wire.Fault{Location: field, Message: "it means nothing for " + f.Op})
		case n == needed && !given:
			faults = append(faults, wire.Fault{Location: field, Message: f.Op + " needs it"})
		}
	}
	check("attempt", n.attempt, f.Attempt > 0)
	check("delay", n.delay, f.Delay != "" || f.Days > 0 && op.Kind == item.Store)
	check("lease", n.lease, f.Lease != "")
	check("worker", n.worker, f.Worker != nil)
	check("force", n.force, f.Force)
	switch {
	case f.Days > 0 && op.Kind != item.Store:
		check("days", refused, true)
	case f.Days > 0 && f.Delay != "":
		faults = append(faults, wire.Fault{Location: "days", Message: "it is another way to say delay: give one of them"})
	}
	if field, text := spanOf(f); text != "" {
		var err error
		if op.Delay, err = ParseSpan(text); err != nil {
			faults = append(faults, wire.Fault{Location: field, Message: err.Error()})
		}
	}
	op.Delay += time.Duration(f.Days) * 24 * time.Hour
	return op, faults
}

// spanOf is the duration that was given, and the name of its field.
func spanOf(f *wire.OpForm) (field, text string) {
	if f.Lease != "" {
		return "lease", f.Lease
	}
	return "delay", f.Delay
}
