package finding

import (
	"cmp"
	"slices"
	"time"

	"tallyman/internal/notice"
)

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

	was    string // the notice that it carried before the run; "" of one that goes without a word
	shared bool   // others may have carried that notice, too: a digest, or that of a group
}

// Tell is a finding or a group that wants a notice. Its last state, whose Episode and Ordinal are the notice's,
// is that of Result.Changes[Change], and of each that fires in the group.
type Tell struct {
	Kind    Kind
	Change  int
	Group   string // "" of a finding that is told by itself
	Members []int  // of a group: the changes of all that fire in it; nil of a finding

	prior prior
}

// prior is how something was told before.
type prior struct {
	noticeID string
	line     string // its group, or its key
	term     int64
	episode  time.Time
	at       time.Time
}

func priorOf(st *State) prior {
	return prior{st.NoticeID, line(st), st.Term, st.Episode, st.LastNotified}
}

func line(st *State) string { return cmp.Or(st.Group, st.Key) }

// Count is how many findings are told.
func (t Tell) Count() int { return max(len(t.Members), 1) }

// Result is what a run changes.
type Result struct {
	Scope    Scope
	Changes  []Change // in the order of the rows, then those that were not seen in the order of their keys
	Tells    []Tell   // one for each See whose verdict had a Kind, in their order; or one for each of Groups
	Pending  int      // findings after the run
	Firing   int
	Repeated int // rows whose key had come before in the run: the first row counts

	partial   bool            // states are only the findings that no row makes
	states    []State         // before the run
	carriers  map[string]int  // how many findings carried a notice before the run; see Shared
	continued map[string]bool // notices that a later one of the same episode stands for
}

// State returns what is told: the state after the run that the notice belongs to.
func (res *Result) State(t Tell) State { return res.Changes[t.Change].State }

// Told records the id of the notice that tells, so that its resolution finds it. What has a notice of its own and is told
// again in a digest keeps its own, unless that was made before live, when nobody but the shadow inbox heard of it.
func (res *Result) Told(t Tell, noticeID string, live time.Time) {
	alone := t.prior.noticeID != "" && !notice.IsDigest(t.prior.noticeID)
	after := res.State(t)
	if same := t.prior.line == line(&after) && t.prior.term == after.Term && t.prior.episode.Equal(after.Episode); alone && same {
		if notice.IsDigest(noticeID) && !t.prior.at.Before(live) {
			noticeID = t.prior.noticeID
		} else {
			res.continues(t.prior.noticeID)
		}
	}
	res.Changes[t.Change].NoticeID = noticeID
	for _, i := range t.Members {
		res.Changes[i].NoticeID = noticeID
	}
}

func (res *Result) continues(noticeID string) {
	if res.continued == nil {
		res.continued = map[string]bool{}
	}
	res.continued[noticeID] = true
}

// Over returns the notices that end with the run, in the order of the changes: no finding carries them any more, because
// those that did are gone or have been told by another notice since. Ask after all was told.
func (res *Result) Over() (ids []string) {
	open := map[string]int{} // findings that carry it after the run
	for i := range res.Changes {
		id := res.Changes[i].left()
		if _, listed := open[id]; id == "" || listed || res.continued[id] {
			continue
		}
		open[id] = 0
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil
	}
	for id, n := range res.carriers {
		if _, asked := open[id]; asked {
			open[id] += n
		}
	}
	count := func(id string, n int) {
		if _, asked := open[id]; asked {
			open[id] += n
		}
	}
	for i := range res.states {
		count(res.states[i].NoticeID, 1)
	}
	for i := range res.Changes {
		c := &res.Changes[i]
		if !res.isAlone(c) {
			count(c.was, -1)
		}
		if c.Op != Delete {
			count(c.NoticeID, 1)
		}
	}
	over := ids[:0]
	for _, id := range ids {
		if open[id] == 0 {
			over = append(over, id)
		}
	}
	return over
}

// isAlone tells whether the finding is the only one that carried its notice, of those that neither states nor carriers count.
func (res *Result) isAlone(c *Change) bool {
	return res.partial && !c.shared && c.Key != NoData && c.Key != OnError
}

// Shared returns notices that end with the run unless other findings carry them: those of a run that does not know all findings. CarriedBefore takes
// how many findings carried each. Ask after all was told, and before Over.
func (res *Result) Shared() (ids []string) {
	if !res.partial {
		return nil
	}
	for i := range res.Changes {
		if c := &res.Changes[i]; c.shared && c.left() != "" && !res.continued[c.was] {
			ids = append(ids, c.was)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// CarriedBefore takes how many findings carried each of the notices of Shared before the run.
func (res *Result) CarriedBefore(carriers map[string]int) { res.carriers = carriers }

// left returns the notice that the finding carries no longer, or "".
func (c *Change) left() string {
	if c.Op != Delete && c.NoticeID == c.was {
		return ""
	}
	return c.was
}

func (res *Result) tell(t Tell) { res.Tells = append(res.Tells, t) }

// keep records a finding that lives on.
func (res *Result) keep(before, after State) {
	op := Update
	if before.Phase == 0 {
		op = Insert
	}
	res.move(before.Phase, -1)
	res.move(after.Phase, 1)
	res.Changes = append(res.Changes, Change{State: after, Op: op, was: before.NoticeID, shared: isShared(&before)})
}

// drop records a finding that is gone.
func (res *Result) drop(before, after State) {
	res.move(before.Phase, -1)
	res.Changes = append(res.Changes, Change{State: after, Op: Delete, was: before.NoticeID, shared: isShared(&before)})
}

// isShared tells whether other findings may carry the notice of the finding.
func isShared(st *State) bool { return st.Group != "" || notice.IsDigest(st.NoticeID) }

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

// The keys of the findings that no row makes. They are JSON strings, so that they never equal a row's key, which is
// an array.
const (
	NoData  = `"no_data"`  // the probe has returned no row
	OnError = `"on_error"` // the run has failed
)

// Split takes the findings that no row makes out of the others.
func Split(states []State) (rows, alerts []State) {
	for i := range states {
		if key := states[i].Key; key == NoData || key == OnError {
			if rows == nil {
				rows = append(make([]State, 0, len(states)), states[:i]...)
			}
			alerts = append(alerts, states[i])
		} else if rows != nil {
			rows = append(rows, states[i])
		}
	}
	if alerts == nil {
		return states, nil
	}
	return rows, alerts
}

// Alert decides about a finding that no row makes: wrong tells whether the run gives rise to it. st is its state before
// with its key, and no Phase where it is new; last is the due time of the run before. by names what holds it back, "" = nothing does.
func (res *Result) Alert(st State, wrong bool, priority int, p Policy, by string, last, due time.Time) {
	if st.Phase != 0 {
		res.count([]State{st})
		res.states = append(slices.Clip(res.states), st)
	}
	switch {
	case wrong:
		p.Baseline = false // no row makes it
		after, kind := p.decide(st, &SeenRow{Priority: priority}, &res.Scope, due)
		if kind != None && by != "" {
			after, kind = after.hold(&st, by), None
		}
		if after == st {
			return
		}
		res.keep(st, after)
		if kind != None {
			res.tell(Tell{Kind: kind, Change: len(res.Changes) - 1, prior: priorOf(&st)})
		}
	case st.Phase != 0:
		if after, gone := p.miss(st, res.Scope.Clock, last); gone {
			res.drop(st, after)
		} else if after != st {
			res.keep(st, after)
		}
	}
}

// Leave counts a finding that no row makes and that the run says nothing about.
func (res *Result) Leave(st State) { res.count([]State{st}) }
