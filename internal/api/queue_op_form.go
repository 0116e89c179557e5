package api

import (
	"encoding/xml"
	"time"

	"tallyman/internal/item"
)

// OpForm is one operation of a step.
type OpForm struct {
	Op string `json:"op" enum:"ack,nack,release,extend,suspend,store,finish,assign,remove,requeue"`
	ID string `json:"id" doc:"the item"`
	OpFields
	Worker *string `json:"worker,omitempty" doc:"assign: who alone gets the item, <subject>/<worker> or <subject> for all its workers, a worker where there are no tokens; empty = anybody again"`
	Force  bool    `json:"force,omitempty" doc:"remove: even while it is leased"`
}

// OpFields are what operations may need.
type OpFields struct {
	Attempt int    `json:"attempt,omitempty" minimum:"1" doc:"of the lease that the operation belongs to: ack, nack, release and extend need it, suspend, store and assign take it"`
	Delay   string `json:"delay,omitempty" doc:"nack: before it is ready again; store: for how long. In s, m, h, d" example:"10m"`
	Days    int    `json:"days,omitempty" minimum:"1" maximum:"366" doc:"store: for how many days, instead of delay"`
	Lease   string `json:"lease,omitempty" doc:"extend: the lease ends that long from now, the queue's lease by default. In s, m, h, d" example:"5m"`
	Note    string `json:"note,omitempty" text:"lines" maxLength:"4096" doc:"why, for the trace; cut at 500 bytes"`
}

// ResultForm is what became of an operation.
type ResultForm struct {
	XMLName xml.Name   `json:"-" xml:"result"`
	Op      string     `json:"op" xml:"op"`
	ID      string     `json:"id" xml:"id"`
	Outcome string     `json:"outcome" xml:"outcome" enum:"ok,lease_lost,item_not_found,item_leased,suspend_limit,item_not_dead,item_dead" doc:"all but ok have changed nothing"`
	State   string     `json:"state,omitempty" xml:"state,omitempty" enum:"ready,leased,delayed,suspended,stored,dead,done,removed" doc:"ok: how the item stands now"`
	Due     *time.Time `json:"due,omitempty" xml:"due,omitempty" doc:"ok: when the lease ends, or when it becomes ready"`
}

func newResultForm(r *item.Result) ResultForm {
	return ResultForm{Op: string(r.Kind), ID: r.ID, Outcome: string(r.Outcome), State: string(r.State), Due: timeOrNil(r.Due)}
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

// parse reads an operation; the location of a fault is the name of its field.
func (f *OpForm) parse() (item.Op, []Fault) {
	op := item.Op{Kind: item.OpKind(f.Op), ID: f.ID, Attempt: f.Attempt, Force: f.Force, Note: f.Note}
	if f.Worker != nil {
		op.Worker = *f.Worker
	}
	n := needsOf(op.Kind)
	var faults []Fault
	check := func(field string, n need, given bool) {
		switch {
		case n == refused && given:
			faults = append(faults, Fault{Location: field, Message: "it means nothing for " + f.Op})
		case n == needed && !given:
			faults = append(faults, Fault{Location: field, Message: f.Op + " needs it"})
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
		faults = append(faults, Fault{Location: "days", Message: "it is another way to say delay: give one of them"})
	}
	if field, text := f.span(); text != "" {
		var err error
		if op.Delay, err = parseSpan(text); err != nil {
			faults = append(faults, Fault{Location: field, Message: err.Error()})
		}
	}
	op.Delay += time.Duration(f.Days) * 24 * time.Hour
	return op, faults
}

// span is the duration that was given, and the name of its field.
func (f *OpForm) span() (field, text string) {
	if f.Lease != "" {
		return "lease", f.Lease
	}
	return "delay", f.Delay
}
