package queue

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/combine"
	"tallyman/internal/item"
	"tallyman/sinks/recovery"
)

const (
	stepFlights  = 2    // concurrent calls of step.lua, of one process and line
	stepRequests = 64   // requests in one call
	stepWork     = 2000 // operations and leases in one call
	// stepRepeats is how many items one call leases to requests with an id, unless one request alone asks for more. After
	// a repeated request the answer has the payloads of all these items again.
	stepRepeats = 60
)

// stepHint tells a call that waits whether and when to ask again.
type stepHint struct {
	next time.Duration // until the next item is due; -1 means never
	over bool          // the request was already answered, without items: waiting is useless
}

// stepOnce applies the operations and leases items that are ready now. A call with the same request id gets the same
// answer again. The exception is a request that waits: if its answer had no items, a repeat may get items. The errors
// are item.InvalidError, recovery.ErrUnavailable and the context's.
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
		return q.lost(g, l.because(l.steps.Do(ctx, r)))
	})
	if err != nil {
		return item.Stepped{}, stepHint{}, err
	}
	if r.reused {
		return item.Stepped{}, stepHint{}, invalid("requestId", -1, "the id %s belongs to another request of the worker, or to an earlier request", s.RequestID)
	}
	return r.answer, r.hint, nil
}

// newSteps lets concurrent steps share calls of step.lua.
func (l *queueLine) newSteps() *combine.Calls[*request] {
	return &combine.Calls[*request]{Flights: stepFlights, Fits: together, Call: l.step}
}

// together tells whether a request may join a call. All requests of a call have one epoch. Two requests of one caller
// that has a record of its own never share a call. The work of the script is bounded, too.
func together(parts []*combine.Part[*request], next *request) bool {
	work, repeats := next.work(), next.repeats()
	for _, p := range parts {
		r := p.What
		if r.epoch != next.epoch || r.caller != "" && r.caller == next.caller {
			return false
		}
		work += r.work()
		repeats += r.repeats()
	}
	alone := repeats == next.repeats() || next.repeats() == 0
	return len(parts) < stepRequests && work <= stepWork && (repeats <= stepRepeats || alone)
}

// step makes one call of step.lua. step repeats the call until it is answered or callTimeout ends. A repeat does no
// harm, because step.lua recognizes the call.
func (l *queueLine) step(ctx context.Context, flight int, parts []*combine.Part[*request]) {
	requests := make([]*request, len(parts))
	for i, p := range parts {
		requests[i] = p.What
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
		p.Err = err
		if !p.Answer() && err == nil && p.What.caller == "" {
			for _, lease := range p.What.answer.Items {
				nobody = append(nobody, item.Op{Kind: item.Release, ID: lease.ID, Attempt: lease.Attempt, Note: "the caller was gone"})
			}
		}
	}
	l.giveBack(ctx, flight, requests[0].epoch, nobody)
}

// giveBack releases items that were leased to callers that have left. These callers cannot ask again, because their
// requests had no id. If the release fails, the items come back when their leases end.
func (l *queueLine) giveBack(ctx context.Context, flight int, epoch string, ops []item.Op) {
	for len(ops) > 0 {
		n := min(len(ops), item.MaxBatch)
		call := l.newCall(flight, []*request{l.newRequest(epoch, item.Step{Ops: ops[:n]})})
		if _, err := l.run(ctx, l.scripts.step, call.keys, call.args...); err != nil {
			l.log.Warn("Items were leased to callers that had left. They wait for their leases to end.",
				"count", len(ops), "error", err)
			return
		}
		ops = ops[n:]
	}
}

// request is a step on its way through step.lua.
type request struct {
	epoch  string
	step   item.Step
	caller string // names the record of the answer; empty means that the request shares a record with others
	lease  time.Duration
	by     string
	name   string // of the caller

	answer item.Stepped
	hint   stepHint
	reused bool // the id belongs to another request of the worker, or to an earlier one
}

func (l *queueLine) newRequest(epoch string, s item.Step) *request {
	r := &request{epoch: epoch, step: s, lease: s.Lease, by: s.By, name: s.Name()}
	if r.lease == 0 {
		r.lease = l.settings.now().Lease
	}
	if r.by == "" {
		r.by = r.name
	}
	r.by = escape(cutNote(r.by))
	if s.RequestID != "" {
		r.caller = "w/" + r.name
	}
	return r
}

// assigned returns the names whose assigned items the caller gets: the name of the worker and the subject.
func (r *request) assigned() string {
	if r.step.Subject == "" || r.step.Worker == "" {
		return r.name
	}
	return r.name + " " + r.step.Subject
}

// holder returns the owner of the attempts that the operations may name, in the form of step.lua: the caller's subject,
// the caller's worker, or "-" for any.
func (r *request) holder() string {
	switch {
	case !r.step.OwnLeases:
		return "-"
	case r.step.Subject == "":
		return r.name
	}
	return r.step.Subject + item.NameSeparator
}

// final returns 1 if the caller does not wait for items, so that an answer without items is complete.
func (r *request) final() int {
	if r.step.Max > 0 && r.step.Wait > 0 {
		return 0
	}
	return 1
}

// id returns the name of the request and its operations in the record. The name contains a hash of the operations.
// Other operations under the same id are another request, and must not get the results of this request.
func (r *request) id() string {
	if len(r.step.Ops) == 0 {
		return r.step.RequestID
	}
	h := fnv.New64a()
	for i := range r.step.Ops {
		op := &r.step.Ops[i]
		_, _ = fmt.Fprintf(h, "%s %s %d %d %s %t %q\n", op.Kind, op.ID, op.Attempt, op.Delay, op.Worker, op.Force, op.Note) // never fails
		if op.Set != nil {
			_, _ = h.Write([]byte(settingText(op.Set)))
		}
		if op.Seq != 0 {
			_, _ = fmt.Fprintf(h, "%d\n", op.Seq)
		}
	}
	return r.step.RequestID + "#" + strconv.FormatUint(h.Sum64(), 36)
}

// work is the cost of a request for the script. 512 bytes of a payload cost as much as one operation.
func (r *request) work() int {
	work := len(r.step.Ops) + r.step.Max
	for i := range r.step.Ops {
		if set := r.step.Ops[i].Set; set != nil {
			work += len(set.Payload) / 512
		}
	}
	return work
}

// repeats is how many items the script may have to send again if the caller repeats the request.
func (r *request) repeats() int {
	if r.caller == "" {
		return 0
	}
	return r.step.Max
}

// recordFor is how long an answer is remembered, at least. recordFor must be longer than a request may wait, or a
// repeat would apply the operations again. The extra minute is for clients that repeat a call that was cut off.
const recordFor = MaxWait + time.Minute

// letters are the operations as step.lua takes them.
var letters = map[item.OpKind]byte{
	item.Ack: 'a', item.Nack: 'n', item.Release: 'r', item.Extend: 'e', item.Suspend: 's', item.Store: 't',
	item.Finish: 'f', item.Assign: 'g', item.Remove: 'm', item.Requeue: 'q', item.Set: 'v',
}

// wrong are the outcomes for which step.lua has a letter. Every other letter is the new state of the item.
var wrong = map[byte]item.Outcome{
	'L': item.LeaseLost, 'N': item.NotFound, 'H': item.IsLeased, 'S': item.SuspendLimit, 'D': item.NotDead, 'X': item.IsDead,
}

// stepCall has the arguments of one call of step.lua.
type stepCall struct {
	keys []string
	args []any
}

// newCall writes the arguments. Requests without a record of their own share one record. The record belongs to the
// flight, so no other call uses it at the same time.
func (l *queueLine) newCall(flight int, requests []*request) *stepCall {
	operations := 0
	for _, r := range requests {
		operations += len(r.step.Ops)
	}
	c := &stepCall{keys: append(make([]string, 0, len(l.all)+len(requests)), l.all...)}
	settings := l.settings.now()
	c.args = append(make([]any, 0, 12+13*len(requests)+3*operations), requests[0].epoch, l.now(), l.keys.hints(), l.hint(), l.node(),
		settings.MaxAttempts, settings.steps, maxBacklog, len(requests), operations)

	records, shared := make([]int, len(requests)), 0
	for i, r := range requests {
		switch {
		case r.caller != "":
			c.keys = append(c.keys, l.keys.request(r.caller))
			c.args = append(c.args, r.id(), max(r.lease, recordFor).Milliseconds())
		case shared == 0:
			c.keys = append(c.keys, l.keys.request("n/"+l.life+"/"+strconv.Itoa(flight)))
			c.args = append(c.args, l.nextCall(), recordFor.Milliseconds())
			shared = len(c.keys) - len(l.all)
		default:
			records[i] = shared
			continue
		}
		records[i] = len(c.keys) - len(l.all)
	}
	for i, r := range requests {
		c.args = append(c.args, records[i], len(r.step.Ops), r.step.Max, r.lease.Microseconds(), orDash(r.name), r.by, r.final(),
			scopeNames(r.step.Scope), r.assigned(), r.holder(), orderText(&r.step))
	}
	l.addOps(c, requests, operations)
	return c
}

// addOps writes the operations of all requests.
func (l *queueLine) addOps(c *stepCall, requests []*request, operations int) {
	kinds := make([]byte, 0, operations)
	for _, r := range requests {
		for i := range r.step.Ops {
			op := &r.step.Ops[i]
			kind := letters[op.Kind]
			if kind == 'a' && op.Note != "" {
				kind = 'A'
			}
			kinds = append(kinds, kind)
		}
	}
	c.args = append(c.args, kinds)
	for _, r := range requests {
		for i := range r.step.Ops {
			c.args = append(c.args, r.step.Ops[i].ID)
		}
	}
	for _, r := range requests {
		for i := range r.step.Ops {
			c.args = append(c.args, r.step.Ops[i].Attempt)
		}
	}
	for _, r := range requests {
		for i := range r.step.Ops {
			if op := &r.step.Ops[i]; op.Kind != item.Ack || op.Note != "" {
				c.args = append(c.args, l.argument(op))
			}
		}
	}
}

// argument returns the argument of an operation, as work.lua reads it.
func (l *queueLine) argument(op *item.Op) string {
	delay, force := op.Delay, "0"
	if op.Kind == item.Extend && delay == 0 {
		delay = l.settings.now().Lease
	}
	if op.Force {
		force = "1"
	}
	text := strconv.FormatInt(delay.Microseconds(), 10) + " " + orDash(op.Worker) + " " + force + " " + escape(cutNote(op.Note))
	switch {
	case op.Set != nil:
		text += " " + settingText(op.Set)
	case op.Kind == item.Remove && op.Seq != 0:
		text += " " + strconv.FormatInt(op.Seq, 10)
	}
	return text
}

// readAnswers gives each request its part of the answer of step.lua.
func readAnswers(reply []any, requests []*request) error {
	p := replyReader{reply: reply}
	due := p.number()
	hint := stepHint{next: -1}
	if due >= 0 {
		hint.next = time.Duration(due) * time.Microsecond
	}
	for _, r := range requests {
		r.hint, r.answer = hint, item.Stepped{}
		outcomes, dues := p.text(), p.text()
		switch {
		case outcomes == "*":
			r.reused = true
		case len(r.step.Ops) > 0:
			if err := readResults(r, outcomes, dues); err != nil {
				return err
			}
		}
		n := p.number()
		if p.err != nil || n < -1 || n > int64(len(reply)) {
			return errAnswer
		}
		if n == -1 {
			r.hint.over, n = true, 0
		}
		r.answer.Items = make([]item.Lease, n)
		for i := range r.answer.Items {
			lease, err := readLease(p.text(), p.text())
			if err != nil {
				return err
			}
			r.answer.Items[i] = lease
		}
	}
	return p.err
}

// readResults reads the outcomes of a request's operations.
func readResults(r *request, outcomes, dues string) error {
	if len(outcomes) != len(r.step.Ops) {
		if r.caller == "" {
			return errAnswer
		}
		r.reused = true
		return nil
	}
	times := strings.Fields(dues)
	r.answer.Results = make([]item.Result, len(r.step.Ops))
	for i := range r.answer.Results {
		op, result := &r.step.Ops[i], &r.answer.Results[i]
		result.Kind, result.ID = op.Kind, op.ID
		if result.Outcome = wrong[outcomes[i]]; result.Outcome != "" {
			continue
		}
		state, err := item.FromLetter(outcomes[i : i+1])
		if err != nil {
			return fmt.Errorf("%w: %w", errAnswer, err)
		}
		result.Outcome, result.State = item.OK, state
		if state == item.Done || state == item.Removed || state == item.Ready {
			continue
		}
		if len(times) == 0 {
			return errAnswer
		}
		us, err := strconv.ParseInt(times[0], 10, 64)
		if err != nil {
			return fmt.Errorf("%w: %w", errAnswer, err)
		}
		result.Due, times = fromMicro(us), times[1:]
	}
	return nil
}
