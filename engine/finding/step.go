package finding

import (
	"cmp"
	"slices"
	"time"
)

// Seen is one row that met the condition, or whose condition could not be evaluated.
type Seen struct {
	Key      string
	Priority int
	Errored  bool // leaves its finding as it was
}

// Op is what happens to a finding's record.
type Op uint8

// The operations.
const (
	Insert Op = iota + 1
	Update
	Delete
)

// Change is a finding after the run, or the last state of one that is gone.
type Change struct {
	State
	Op Op
}

// Tell is a finding that wants a notice: Result.Changes[Change] is its state after the run (Episode and Ordinal
// are those of the notice). Of a Resolve it is the last state, whose NoticeID is the notice to take back.
type Tell struct {
	Kind   Kind
	Change int
}

// Result is what a run changes.
type Result struct {
	Scope    Scope
	Changes  []Change // in the order of the rows, then those that were not seen in the order of their keys
	Tells    []Tell   // in the same order: first one for each See whose verdict had a Kind, then every Resolve
	Pending  int      // findings after the run
	Firing   int
	Repeated int // rows whose key had come before in the run: the first row counts
}

// Step is the life of findings as a pure function: what a run at due makes of the findings. states has
// every open finding once. noData tells that the probe returned no row at all.
func Step(scope Scope, states []State, seen []Seen, noData bool, p Policy, due time.Time) Result {
	run := Begin(scope, states, p, due)
	for _, row := range seen {
		if row.Errored {
			run.Err(row.Key)
		} else if v := run.Look(row.Key, row.Priority); !v.Repeated {
			run.See(v)
		}
	}
	return run.Finish(noData)
}

// Fail is the step of a run that saw nothing because it failed: it moves the observed clock alone.
func Fail(scope Scope, states []State, p Policy, due time.Time) Result {
	res := Result{Scope: p.pass(scope, due)}
	res.count(states)
	return res
}

// Drop is the step of a rule that keeps no findings. Those that it kept before, under another mode, go without a word.
func Drop(scope Scope, states []State, p Policy, due time.Time) Result {
	res := Result{Scope: p.pass(scope, due)}
	res.Scope.LastOKDue = due
	for _, st := range states {
		res.Changes = append(res.Changes, Change{State: st, Op: Delete})
	}
	return res
}

// Run is Step taken row by row, so that a notice can be rendered while its row is at hand.
type Run struct {
	policy Policy
	before Scope
	due    time.Time
	states []State
	index  map[string]int // of known keys in states; of new ones the number of states and above
	done   []bool         // by index: a row has decided
	res    Result
}

// Begin starts the step of a run.
func Begin(scope Scope, states []State, p Policy, due time.Time) *Run {
	r := &Run{
		policy: p, before: scope, due: due,
		states: states,
		index:  make(map[string]int, len(states)),
		done:   make([]bool, len(states)),
		res:    Result{Scope: p.pass(scope, due)},
	}
	for i := range states {
		r.index[states[i].Key] = i
	}
	r.res.count(states)
	return r
}

// Verdict is what a row would do.
type Verdict struct {
	Kind     Kind
	Repeated bool // the key has come before: the row does not count

	before, after State
}

// After returns the finding's state if the row counts.
func (v Verdict) After() State { return v.after }

// Look tells what a row would do. It changes nothing but the count of repeated keys.
func (r *Run) Look(key string, priority int) Verdict {
	i, known := r.index[key]
	if known && r.done[i] {
		r.res.Repeated++
		return Verdict{Repeated: true}
	}
	before := State{Key: key}
	if known {
		before = r.states[i]
	}
	after, kind := r.policy.decide(before, priority, r.res.Scope.Clock, r.due)
	return Verdict{Kind: kind, before: before, after: after}
}

// See counts the row that was looked at.
func (r *Run) See(v Verdict) {
	r.decided(v.after.Key)
	if v.after == v.before {
		return
	}
	op := Update
	if v.before.Phase == 0 {
		op = Insert
	}
	r.change(v.before, v.after, op)
	if v.Kind != None {
		r.res.Tells = append(r.res.Tells, Tell{Kind: v.Kind, Change: len(r.res.Changes) - 1})
	}
}

// Err leaves the finding of a row that could not be judged as it was.
func (r *Run) Err(key string) {
	if i, known := r.index[key]; known && r.done[i] {
		r.res.Repeated++
		return
	}
	r.decided(key)
}

func (r *Run) decided(key string) {
	if i, known := r.index[key]; known {
		r.done[i] = true
		return
	}
	r.index[key] = len(r.done)
	r.done = append(r.done, true)
}

// Finish decides about the findings that no row has shown.
func (r *Run) Finish(noData bool) Result {
	if noData && r.policy.KeepLast {
		return r.res
	}
	r.res.Scope.LastOKDue = r.due
	for _, before := range r.unseen() {
		after, gone := r.policy.miss(before, r.before.LastOKDue, r.due)
		switch {
		case gone:
			r.change(before, after, Delete)
			if before.Phase == Firing {
				r.res.Tells = append(r.res.Tells, Tell{Kind: Resolve, Change: len(r.res.Changes) - 1})
			}
		case after != before:
			r.change(before, after, Update)
		}
	}
	return r.res
}

func (r *Run) unseen() []State {
	var left []State
	for i := range r.states {
		if !r.done[i] {
			left = append(left, r.states[i])
		}
	}
	slices.SortFunc(left, func(a, b State) int { return cmp.Compare(a.Key, b.Key) })
	return left
}

func (r *Run) change(before, after State, op Op) {
	r.res.move(before.Phase, -1)
	if op != Delete {
		r.res.move(after.Phase, 1)
	}
	r.res.Changes = append(r.res.Changes, Change{State: after, Op: op})
}

func (res *Result) count(states []State) {
	for i := range states {
		res.move(states[i].Phase, 1)
	}
}

func (res *Result) move(p Phase, n int) {
	switch p {
	case Pending:
		res.Pending += n
	case Firing:
		res.Firing += n
	}
}

// Told records the id of the notice that was made for a tell, so that a resolution finds it.
func (res *Result) Told(t Tell, noticeID string) { res.Changes[t.Change].NoticeID = noticeID }
