package finding

import (
	"cmp"
	"slices"
	"time"
)

// SeenRow is one row that met the condition, or whose condition could not be evaluated.
type SeenRow struct {
	Key      string
	Group    string // key of the row's group, for a rule that groups
	Priority int
	// A text for the columns that the rule watches, a space, and a text for their values; "" = the rule watches none.
	Watched string
	Errored bool // The row could not be judged, so its finding stays as it was.
}

// Step computes the changes that a run at due makes to the findings. states has every open finding once. noData tells
// that the probe returned no row at all.
func Step(scope Scope, states []State, seen []SeenRow, noData bool, p Policy, due time.Time) Result {
	run := Begin(scope, states, p, due)
	for _, row := range seen {
		switch {
		case row.Errored:
			run.Err(row.Key)
		case row.Group != "":
			run.Join(row)
		default:
			if v := run.Look(row); !v.Repeated {
				run.See(v)
			}
		}
	}
	run.Groups()
	return run.Finish(noData)
}

// Fail is the step of a failed run. Such a run saw nothing, so only the observed clock advances.
func Fail(scope Scope, states []State, p Policy, due time.Time) Result {
	res := Result{Scope: p.pass(scope, due)}
	res.count(states)
	return res
}

// Drop is the step of a rule that keeps no findings. It deletes the findings that the rule kept earlier under another
// mode, without resolutions.
func Drop(scope Scope, states []State, p Policy, due time.Time) Result {
	res := Result{Scope: p.pass(scope, due)}
	res.Scope.LastOKDue = due
	for _, st := range states {
		res.Changes = append(res.Changes, Change{State: st, Op: Delete})
	}
	return res
}

// Run does the work of Step one row at a time, so that the caller can render a notice while it has the row. For a rule
// that groups, the caller calls Join for each row and then Groups. For any other rule, the caller calls Look and then
// See or Hold for each row. In both cases Finish is the last call.
type Run struct {
	policy  Policy
	before  Scope
	due     time.Time
	states  []State
	index   map[string]int // by key: index in states; a new key has an index from len(states) on
	done    []bool         // by index: a row has decided about the finding
	errored []int          // indexes of known findings whose rows could not be judged
	members []member       // rows of a rule that groups, in their order
	groups  map[string]*Group
	telling []*Group // groups that get a notice, in the order of their keys
	open    *openRun // nil = states has all findings
	res     Result
}

// Begin starts the step of a run.
func Begin(scope Scope, states []State, p Policy, due time.Time) *Run {
	p.Baseline = p.Baseline && scope.IsFirst()
	r := &Run{
		policy: p, before: scope, due: due,
		states: states,
		index:  make(map[string]int, len(states)),
		done:   make([]bool, len(states)),
		res:    Result{Scope: p.pass(scope, due), states: states},
	}
	for i := range states {
		r.index[states[i].Key] = i
	}
	r.res.count(states)
	return r
}

// Verdict is the effect that a row would have.
type Verdict struct {
	Kind     Kind
	Repeated bool // An earlier row had the same key, so this row does not count.

	before, after State
}

// After returns the state of the finding if the row counts.
func (v Verdict) After() State { return v.after }

// Look returns the effect that a row would have. It changes nothing except the count of repeated keys.
func (r *Run) Look(row SeenRow) Verdict {
	before, repeated := r.find(row.Key)
	if repeated {
		return Verdict{Repeated: true}
	}
	after, kind := r.policy.decide(before, &row, &r.res.Scope, r.due)
	return Verdict{Kind: kind, before: before, after: after}
}

// find returns the state of the finding before the run; Phase is 0 for a new key.
func (r *Run) find(key string) (before State, repeated bool) {
	if at, known := r.outlined(key); known {
		if r.open.decided.has(at) {
			r.res.Repeated++
			return State{}, true
		}
		return r.open.learnt[key], false
	}
	i, known := r.index[key]
	if known && r.done[i] {
		r.res.Repeated++
		return State{}, true
	}
	if known {
		return r.states[i], false
	}
	return State{Key: key}, false
}

// outlined returns the index of the finding in the outlines of Open, if it has one.
func (r *Run) outlined(key string) (at int, known bool) {
	if r.open == nil {
		return 0, false
	}
	return r.open.find(HashOf(key))
}

// See applies a verdict. It returns whether the finding changed; the change is then the last of the changes so far.
func (r *Run) See(v Verdict) (changed bool) {
	r.decided(v.after.Key)
	if !r.change(v.before, v.after) {
		return false
	}
	if v.Kind != None {
		r.res.tell(Tell{Kind: v.Kind, Change: len(r.res.Changes) - 1, prior: priorOf(&v.before)})
	}
	return true
}

// Hold is See for a row whose notice silences hold back, although the verdict has a Kind. by has the ids of the
// silences.
func (r *Run) Hold(v Verdict, by string) (changed bool) {
	v.Kind, v.after = None, v.after.hold(&v.before, by)
	return r.See(v)
}

// Err records a row that could not be judged. Its finding stays as it was.
func (r *Run) Err(key string) {
	if at, known := r.outlined(key); known {
		if r.open.decided.has(at) {
			r.res.Repeated++
		}
		r.open.decided.set(at)
		return
	}
	i, known := r.index[key]
	switch {
	case known && r.done[i]:
		r.res.Repeated++
		return
	case known:
		r.errored = append(r.errored, i)
	}
	r.decided(key)
}

func (r *Run) decided(key string) {
	if at, known := r.outlined(key); known {
		r.open.decided.set(at)
		return
	}
	if i, known := r.index[key]; known {
		r.done[i] = true
		return
	}
	r.index[key] = len(r.done)
	r.done = append(r.done, true)
}

// Finish decides about the findings that no row has shown, and returns the result.
func (r *Run) Finish(noData bool) Result {
	r.settleGroups()
	if noData && r.policy.KeepLast {
		return r.res
	}
	r.res.Scope.LastOKDue = r.due
	for _, before := range r.unseen() {
		after, gone := r.policy.miss(before, r.res.Scope.Clock, r.before.LastOKDue)
		if gone {
			r.res.drop(before, after)
		} else {
			r.update(before, after, false)
		}
	}
	r.tellGroups()
	return r.res
}

func (r *Run) unseen() []State {
	var left []State
	if r.open != nil {
		left = r.open.unseen()
	}
	for i := range r.states {
		if !r.done[i] {
			left = append(left, r.states[i])
		}
	}
	slices.SortFunc(left, func(a, b State) int { return cmp.Compare(a.Key, b.Key) })
	return left
}

// update records the new state of a finding. If the finding fires and its group gets a notice, the finding takes over
// the group's notice. A finding without any notice so far takes it over only if this run showed the row of the finding.
// Otherwise the finding begins an episode of its own.
func (r *Run) update(before, after State, shown bool) {
	g := r.groups[after.Group]
	switch {
	case g == nil || after.Phase != Firing || !g.isTold:
		r.change(before, after)
		return
	case !shown && after.Ordinal == 0:
		after.Term, after.Episode = r.res.Scope.Term, r.due
		r.change(before, after)
		return
	}
	r.change(before, g.member(after))
	g.changes = append(g.changes, len(r.res.Changes)-1)
}

// change records the state if it differs from before.
func (r *Run) change(before, after State) bool {
	if after == before {
		return false
	}
	r.res.keep(before, after)
	return true
}
