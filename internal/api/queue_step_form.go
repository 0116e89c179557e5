package api

import (
	"encoding/xml"
	"strconv"
	"time"

	"tallyman/internal/item"
)

// LeaseForm asks for items.
type LeaseForm struct {
	Worker string `json:"worker" minLength:"1" doc:"which device of the token's subject asks: a name that none of its others has; without tokens, a name that no other worker of the queue has" example:"packer-7"`
	Max    int    `json:"max,omitempty" minimum:"1" maximum:"1000" default:"1" doc:"items at most"`
	Terms
}

// StepForm is a batch of operations, and asks for items.
type StepForm struct {
	Worker string   `json:"worker,omitempty" doc:"which device of the token's subject asks: a name that none of its others has; without tokens, a name that no other worker of the queue has. Needed where items are asked for" example:"packer-7"`
	Ops    []OpForm `json:"ops,omitempty" maxItems:"1000" doc:"done in order, before items are leased" nullable:"false"`
	Max    int      `json:"max,omitempty" minimum:"0" maximum:"1000" default:"0" doc:"items at most"`
	Terms
}

// Terms are how items are leased.
type Terms struct {
	RequestID string `json:"requestId,omitempty" doc:"a worker that repeats its last request under the same id gets the same answer, and nothing is done twice. It belongs to the token's subject and the worker"`
	Wait      string `json:"wait,omitempty" doc:"hold the answer back until there is an item, at most that long: a duration up to 60s. After 55s an answer comes in any case" example:"25s"`
	Lease     string `json:"lease,omitempty" doc:"how long the items are the worker's, the queue's lease by default. In s, m, h, d" example:"60s"`
	Test      bool   `json:"test,omitempty" doc:"the test twin"`
}

// LeasedItemsForm are the items that a worker was given.
type LeasedItemsForm struct {
	XMLName xml.Name     `json:"-" xml:"leased"`
	Items   []LeasedForm `json:"items" xml:"item" doc:"in the order of service" nullable:"false"`
}

// LeasedForm is an item that a worker was given.
type LeasedForm struct {
	ID         string    `json:"id" xml:"id"`
	Warehouse  string    `json:"warehouse,omitempty" xml:"warehouse,omitempty" doc:"that it belongs to; absent: none"`
	Attempt    int       `json:"attempt" xml:"attempt" doc:"operations name it"`
	Priority   int       `json:"priority" xml:"priority"`
	Payload    Payload   `json:"payload" xml:"payload"`
	LeaseUntil time.Time `json:"leaseUntil" xml:"leaseUntil" doc:"then another worker gets it"`
	CreatedAt  time.Time `json:"createdAt" xml:"createdAt"`
	Failures   int       `json:"failures" xml:"failures" doc:"how often it was put back as failed, or its lease ran out"`
	Suspends   int       `json:"suspends" xml:"suspends" doc:"how often it was suspended"`
}

// SteppedForm is the answer to a step.
type SteppedForm struct {
	XMLName xml.Name     `json:"-" xml:"step"`
	Results []ResultForm `json:"results" xml:"results>result" doc:"of the operations, in their order" nullable:"false"`
	Items   []LeasedForm `json:"items" xml:"items>item" doc:"in the order of service" nullable:"false"`
}

func newLeasedForms(items []item.Lease) []LeasedForm {
	forms := make([]LeasedForm, len(items))
	for i := range items {
		l := &items[i]
		forms[i] = LeasedForm{
			ID: l.ID, Warehouse: l.Warehouse, Attempt: l.Attempt, Priority: l.Priority, Payload: Payload(l.Payload), LeaseUntil: l.Until.UTC(), CreatedAt: l.Created.UTC(),
			Failures: l.Failures, Suspends: l.Suspends,
		}
	}
	return forms
}

// step reads a request for items.
func (t *Terms) step(worker string, most int) (item.Step, []Fault) {
	s := item.Step{Test: t.Test, Caller: item.Caller{Worker: worker}, RequestID: t.RequestID, Max: most}
	var faults []Fault
	for _, d := range []struct {
		field, text string
		into        *time.Duration
	}{{"wait", t.Wait, &s.Wait}, {"lease", t.Lease, &s.Lease}} {
		var err error
		if *d.into, err = parseSpan(d.text); err != nil {
			faults = append(faults, Fault{Location: "body." + d.field, Message: err.Error()})
		}
	}
	if s.Wait > maxWait {
		faults = append(faults, Fault{Location: "body.wait", Message: "at most 60s"})
	}
	s.Wait = min(s.Wait, longestHold)
	return s, faults
}

// parse reads a whole step.
func (f *StepForm) parse() (item.Step, *Problem) {
	s, faults := f.step(f.Worker, f.Max)
	s.Ops = make([]item.Op, len(f.Ops))
	for i := range f.Ops {
		op, wrong := f.Ops[i].parse()
		for _, w := range wrong {
			faults = append(faults, Fault{Location: "body.ops[" + strconv.Itoa(i) + "]." + w.Location, Message: w.Message})
		}
		s.Ops[i] = op
	}
	if len(faults) > 0 {
		return s, invalidBody(faults)
	}
	return s, nil
}
