package api

import (
	"strconv"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/wire"
)

func newLeasedForms(items []item.Lease) []wire.LeasedForm {
	forms := make([]wire.LeasedForm, len(items))
	for i := range items {
		l := &items[i]
		forms[i] = wire.LeasedForm{
			ID: l.ID, Warehouse: l.Warehouse, Attempt: l.Attempt, Priority: l.Priority, Payload: wire.Payload(l.Payload), LeaseUntil: l.Until.UTC(), CreatedAt: l.Created.UTC(),
			Failures: l.Failures, Suspends: l.Suspends,
		}
	}
	return forms
}

// parseTerms reads a request for items.
func parseTerms(t *wire.Terms, worker string, most int) (item.Step, []wire.Fault) {
	s := item.Step{Test: t.Test, Caller: item.Caller{Worker: worker}, RequestID: t.RequestID, Max: most}
	var faults []wire.Fault
	for _, d := range []struct {
		field, text string
		into        *time.Duration
	}{{"wait", t.Wait, &s.Wait}, {"lease", t.Lease, &s.Lease}} {
		var err error
		if *d.into, err = ParseSpan(d.text); err != nil {
			faults = append(faults, wire.Fault{Location: "body." + d.field, Message: err.Error()})
		}
	}
	if s.Wait > maxWait {
		faults = append(faults, wire.Fault{Location: "body.wait", Message: "at most 60s"})
	}
	s.Wait = min(s.Wait, longestHold)
	return s, faults
}

// parseStep reads a whole step.
func parseStep(f *wire.StepForm) (item.Step, *wire.Problem) {
	s, faults := parseTerms(&f.Terms, f.Worker, f.Max)
	s.Ops = make([]item.Op, len(f.Ops))
	for i := range f.Ops {
		op, wrong := parseOp(&f.Ops[i])
		for _, w := range wrong {
			faults = append(faults, wire.Fault{Location: "body.ops[" + strconv.Itoa(i) + "]." + w.Location, Message: w.Message})
		}
		s.Ops[i] = op
	}
	if len(faults) > 0 {
		return s, InvalidBody(faults)
	}
	return s, nil
}
