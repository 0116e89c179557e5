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

// Change is a finding after the run. For a deleted finding it is the last state.
type Change struct {
	State
	Op Op

	// Id of the notice that the finding carried before the run; "" = none, or Drop deletes the finding without a
	// resolution.
	oldNotice string
	shared    bool // Other findings may have carried the same notice, because it is a digest or a group's notice.
}

// Tell asks for a notice about a finding or a group. The state in Result.Changes[Change] has the Episode and Ordinal
// of the notice; in a group all firing members have the same.
type Tell struct {
	Kind    Kind
	Change  int
	Group   string // key of the group; "" = a single finding
	Members []int  // indexes of the changes of all findings that fire in the group; nil for a single finding

	prior prior
}

// prior is the last notice of a finding or a group before the run.
type prior struct {
	noticeID string
	line     string // key of the group, or of the finding if it has no group
	term     int64
	episode  time.Time
	at       time.Time
}

func priorOf(st *State) prior {
	return prior{st.NoticeID, line(st), st.Term, st.Episode, st.LastNotified}
}

func line(st *State) string { return cmp.Or(st.Group, st.Key) }

// Count returns how many findings the notice is about.
func (t Tell) Count() int { return max(len(t.Members), 1) }

// Result is what a run changes.
type Result struct {
	Scope    Scope
	Changes  []Change // in the order of the rows, then unseen findings in the order of their keys
	Tells    []Tell   // one for each See whose verdict has a Kind, in the order of the calls; or one for each of Groups
	Pending  int      // findings that are pending after the run
	Firing   int      // findings that are firing after the run
	Repeated int      // rows whose key an earlier row of the run had; only the first row counts

	partial   bool            // states has only the findings that no row makes; the run knows the others by outlines
	states    []State         // findings before the run
	carriers  map[string]int  // by notice: how many findings carried it before the run; see Shared
	continued map[string]bool // notices that a later notice of the same episode replaces
}

// State returns the state after the run that the notice t reports.
func (res *Result) State(t Tell) State { return res.Changes[t.Change].State }

// Told records the id of the notice t, so that the resolution finds it. A finding that has a notice of its own keeps
// that id when a digest reports it again. It does not keep the id of a notice from before the time live, because only
// the shadow inbox received that notice.
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

// Over returns the notices that end with the run, in the order of the changes: no finding carries them any more,
// because their findings are over or have a newer notice. Call it after Told was called for all notices.
func (res *Result) Over() (ids []string) {
	open := map[string]int{} // by notice: number of findings that carry it after the run
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
			count(c.oldNotice, -1)
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

// isAlone tells whether neither states nor carriers count the finding of c. That is so in a run that does not know all
// findings, if no other finding can have carried the notice of c before the run.
func (res *Result) isAlone(c *Change) bool {
	return res.partial && !c.shared && c.Key != NoData && c.Key != OnError
}

// Shared returns the notices that end with the run unless other findings carry them. Only a run that does not know
// all findings has any. The caller passes their counts to CarriedBefore. Call Shared after Told was called for all
// notices, and before Over.
func (res *Result) Shared() (ids []string) {
	if !res.partial {
		return nil
	}
	for i := range res.Changes {
		if c := &res.Changes[i]; c.shared && c.left() != "" && !res.continued[c.oldNotice] {
			ids = append(ids, c.oldNotice)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// CarriedBefore takes, for each notice of Shared, the number of findings that carried the notice before the run.
func (res *Result) CarriedBefore(carriers map[string]int) { res.carriers = carriers }

// left returns the notice that the finding no longer carries after the run, or "".
func (c *Change) left() string {
	if c.Op != Delete && c.NoticeID == c.oldNotice {
		return ""
	}
	return c.oldNotice
}

func (res *Result) tell(t Tell) { res.Tells = append(res.Tells, t) }

// keep records a finding that stays open.
func (res *Result) keep(before, after State) {
	op := Update
	if before.Phase == 0 {
		op = Insert
	}
	res.move(before.Phase, -1)
	res.move(after.Phase, 1)
	res.Changes = append(res.Changes, Change{State: after, Op: op, oldNotice: before.NoticeID, shared: isShared(&before)})
}

// drop records a finding that is over.
func (res *Result) drop(before, after State) {
	res.move(before.Phase, -1)
	res.Changes = append(res.Changes, Change{State: after, Op: Delete, oldNotice: before.NoticeID, shared: isShared(&before)})
}

// isShared tells whether other findings may carry the same notice.
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

// The keys of the findings that no row makes. They are JSON strings, so they never equal a row's key, which is a JSON
// array.
const (
	NoData  = `"no_data"`  // the probe returned no row
	OnError = `"on_error"` // the run failed
)

// Split separates the findings that no row makes from the others.
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

// Alert decides about a finding that no row makes. st is the state of the finding before the run, with its key; Phase
// is 0 for a new finding. wrong tells whether the run shows the finding. by has the ids of the silences that hold its
// notice back, "" = none. last is the due time of the run before.
func (res *Result) Alert(st State, wrong bool, priority int, p Policy, by string, last, due time.Time) {
	if st.Phase != 0 {
		res.count([]State{st})
		res.states = append(slices.Clip(res.states), st)
	}
	switch {
	case wrong:
		p.Baseline = false // the baseline is about rows
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

// Leave counts a finding that no row makes and that the run leaves unchanged.
func (res *Result) Leave(st State) { res.count([]State{st}) }
