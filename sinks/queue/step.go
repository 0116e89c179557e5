package queue

import (
	"context"
	"time"

	"tallyman/internal/item"
	"tallyman/sinks/recovery"
)

const (
	stepFlights  = 2    // calls of step.lua under way at a time, of one process and line
	stepRequests = 64   // in one call
	stepWork     = 2000 // operations and leases in one call
	// stepRepeats is how many items one call leases to those who may ask for them again, unless one of them alone asks for more. Where all of them
	// do ask again, the answer has the payloads of all these items.
	stepRepeats = 60
)

// stepHint is what a step tells those who wait.
type stepHint struct {
	next time.Duration // until something is due; -1 = never
	over bool          // it was answered before that there is nothing
}

// stepOnce applies the operations and leases what is ready now. It may be asked again with the same request id: what was
// answered before is answered again; only while it waits there may be items where there were none. The errors are an
// item.InvalidError, recovery.ErrUnavailable and that of the context.
func (q *Queue) stepOnce(ctx context.Context, s item.Step) (item.Stepped, stepHint, error) {
	if err := checkStep(&s); err != nil {
		return item.Stepped{}, stepHint{}, err
	}
	if len(s.Ops) == 0 && s.Max == 0 && s.RequestID == "" {
		return item.Stepped{}, stepHint{next: -1}, nil
	}
	l := q.line(s.Test)
	var r *request
	err := q.keeper.Serve(ctx, func(ctx context.Context, g *recovery.Generation) error {
		r = l.newRequest(g.Epoch, s)
		return q.lost(g, l.because(l.steps.do(ctx, r)))
	})
	if err != nil {
		return item.Stepped{}, stepHint{}, err
	}
	if r.reused {
		return item.Stepped{}, stepHint{}, invalid("requestId", -1, "%s was another request of the worker, or an earlier one", s.RequestID)
	}
	return r.answer, r.hint, nil
}

// newSteps lets the steps of a process share calls of step.lua.
func (l *line) newSteps() *combiner[*request] {
	return &combiner[*request]{flights: stepFlights, fits: together, call: l.step}
}

// together tells whether a request may go into a call with others: those of one epoch, and one of each caller with a
// record of its own. What the script reads for all of them is bounded.
func together(parts []*part[*request], next *request) bool {
	work, repeats := next.work(), next.repeats()
	for _, p := range parts {
		r := p.what
		if r.epoch != next.epoch || r.caller != "" && r.caller == next.caller {
			return false
		}
		work += r.work()
		repeats += r.repeats()
	}
	alone := repeats == next.repeats() || next.repeats() == 0
	return len(parts) < stepRequests && work <= stepWork && (repeats <= stepRepeats || alone)
}

// step makes a call of step.lua, until it is answered or patience ends. To repeat it does no harm: step.lua knows it.
func (l *line) step(ctx context.Context, flight int, parts []*part[*request]) {
	requests := make([]*request, len(parts))
	for i, p := range parts {
		requests[i] = p.what
	}
	call := l.newCall(flight, requests)
	err := l.insist(ctx, func(ctx context.Context) error {
		reply, err := l.run(ctx, l.scripts.step, call.keys, call.args...)
		if err == nil {
			err = readAnswers(reply, requests)
		}
		return err
	})
	var nobody []item.Op
	for _, p := range parts {
		p.err = err
		if !p.answer() && err == nil && p.what.caller == "" {
			for _, lease := range p.what.answer.Items {
				nobody = append(nobody, item.Op{Kind: item.Release, ID: lease.ID, Attempt: lease.Attempt, Note: "the caller was gone"})
			}
		}
	}
	l.giveBack(ctx, flight, requests[0].epoch, nobody)
}

// giveBack releases what was leased to callers that had gone meanwhile and cannot ask again: they named no request. What
// cannot be given back now comes back when the lease ends.
func (l *line) giveBack(ctx context.Context, flight int, epoch string, ops []item.Op) {
	for len(ops) > 0 {
		n := min(len(ops), item.MaxBatch)
		call := l.newCall(flight, []*request{l.newRequest(epoch, item.Step{Ops: ops[:n]})})
		if _, err := l.run(ctx, l.scripts.step, call.keys, call.args...); err != nil {
			l.log.Warn("items that were leased to nobody wait for their leases to end", "count", len(ops), "error", err)
			return
		}
		ops = ops[n:]
	}
}
