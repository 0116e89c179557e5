package finding

import (
	"cmp"
	"slices"
	"time"
)

// member is a row of a rule that groups, with the state of its finding before and after.
type member struct {
	before, after State
	joins         bool // The finding fires in the group for the first time.
	differs       bool // The finding was in a notice of the group, and its watched values differ from that notice.
	row           SeenRow
}

// Group is a group of findings that gets a notice.
type Group struct {
	Key  string
	Kind Kind
	// Indexes of the rows of firing members, in the order of their keys. An index counts the calls of Join from 0,
	// without the calls for repeated rows.
	Rows []int

	prior     State // state of a member at the last notice; its Phase is 0 where no member was firing
	after     State // state that the notice gives its members
	priority  int   // highest priority of Rows
	known     int   // highest priority of members that are part of the baseline
	joined    bool
	differs   bool
	isTold    bool   // The run makes a notice of the group.
	hasFailed bool   // No notice could be made of the group.
	heldBy    string // ids of the silences that hold the notice back; "" = none
	changes   []int
}

// Join is Look and See for a row of a rule that groups. Groups decides about notices when all rows have been seen.
// Join returns whether an earlier row had the same key; then this row does not count.
func (r *Run) Join(row SeenRow) (repeated bool) {
	before, repeated := r.find(row.Key)
	if repeated {
		return true
	}
	r.decided(row.Key)
	r.members = append(r.members, r.policy.join(before, row, &r.res.Scope, r.due))
	return false
}

// join is decide for a finding in a group.
func (p Policy) join(before State, row SeenRow, now *Scope, due time.Time) member {
	st := before
	if st.Phase == 0 {
		st.Phase, st.Term, st.Episode, st.SinceClock, st.Baseline = Pending, now.Term, due, now.Clock, p.Baseline
	}
	st.Group, st.AbsentSince, st.Silenced = row.Group, time.Time{}, ""
	if st.Phase == Pending && now.Clock-st.SinceClock >= p.For {
		st.Phase, st.FiringSince = Firing, due
		if st.Baseline {
			st.Term, st.Episode, st.Priority, st.Watched = now.Term, due, row.Priority, row.Watched
		}
	}
	joins := st.Phase == Firing && (before.Phase != Firing || before.Group != row.Group || before.Ordinal == 0)
	if st.Baseline { // a baseline finding is new in the group only if it comes from another group
		joins = joins && before.Phase == Firing && before.Group != "" && before.Group != row.Group
	}
	if st.Phase == Firing && !joins {
		st = st.watching(row.Watched)
	}
	return member{before: before, after: st, joins: joins, differs: st.Phase == Firing && !joins && st.Watched != row.Watched, row: row}
}

// Groups returns the groups that get a notice, in the order of their keys. Call it after all rows have been seen. If
// the caller cannot make the notice of a group, or a silence holds it back, the caller calls Untold or HoldGroup.
func (r *Run) Groups() []*Group {
	r.groups = map[string]*Group{}
	for i := range r.members {
		r.gather(i)
	}
	r.recall()
	var list []*Group
	for _, g := range r.groups {
		if r.decideGroup(g); g.Kind != None {
			g.isTold = true
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b *Group) int { return cmp.Compare(a.Key, b.Key) })
	for _, g := range list {
		slices.SortFunc(g.Rows, func(a, b int) int { return cmp.Compare(r.members[a].after.Key, r.members[b].after.Key) })
	}
	r.telling = list
	return list
}

// gather adds a row to its group.
func (r *Run) gather(i int) {
	m := &r.members[i]
	if m.after.Phase != Firing {
		return
	}
	g := r.groups[m.after.Group]
	if g == nil {
		g = &Group{Key: m.after.Group}
		r.groups[g.Key] = g
	}
	g.Rows = append(g.Rows, i)
	g.joined = g.joined || m.joins
	g.differs = g.differs || m.differs
	g.priority = max(g.priority, m.row.Priority)
	if m.after.Baseline && m.before.Phase != Firing {
		g.known = max(g.known, m.row.Priority)
	}
}

// recall finds the last notice of each group. All members of a group have the same last notice, except members that
// were held back from the start. If the last notices differ, the latest one counts.
func (r *Run) recall() {
	if len(r.groups) == 0 {
		return
	}
	for i := range r.states {
		st := &r.states[i]
		g := r.groups[st.Group]
		if g == nil || st.Phase != Firing {
			continue
		}
		if g.prior.Phase == 0 || later(st, &g.prior) {
			g.prior = *st
		}
		if st.Baseline {
			g.known = max(g.known, st.Priority)
		}
	}
}

func later(a, b *State) bool {
	return cmp.Or(a.LastNotified.Compare(b.LastNotified), cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(b.Term, a.Term), b.Episode.Compare(a.Episode), cmp.Compare(b.Key, a.Key)) > 0
}

// decideGroup is decide for a group.
func (r *Run) decideGroup(g *Group) {
	switch {
	case g.prior.Phase == 0 && !g.joined: // all its rows are part of the baseline
	case g.prior.Phase == 0:
		g.Kind = Fire
		g.prior.Group, g.prior.Term, g.prior.Episode = g.Key, r.res.Scope.Term, r.due
	case g.prior.Ordinal == 0 && !g.prior.Baseline:
		g.Kind = Fire // held back until now; the episode began when its first member fired
	case g.joined:
		g.Kind = Join
	case g.priority > max(g.prior.Priority, g.known):
		g.Kind = Rise
	case g.differs:
		g.Kind = Differ
	case r.policy.RepeatInterval > 0 && !g.prior.Baseline && r.due.Sub(g.prior.LastNotified) >= r.policy.RepeatInterval:
		g.Kind = Remind
	}
	g.after = g.prior.withNotice(&SeenRow{Priority: g.priority}, r.due)
}

// member returns the member's state with the notice of its group.
func (g *Group) member(st State) State {
	st.Term, st.Episode, st.Priority, st.LastNotified = g.after.Term, g.after.Episode, g.after.Priority, g.after.LastNotified
	st.Ordinal, st.NoticeID = g.after.Ordinal, g.after.NoticeID
	st.Silenced, st.Baseline = "", false
	return st
}

// HoldGroup withdraws a group because silences hold its notice back; by has the ids of the silences. The members of the
// group fire. A member that fires in the group for the first time counts as new again in the next run.
func (r *Run) HoldGroup(g *Group, by string) { g.isTold, g.heldBy = false, by }

// Untold withdraws a group whose notice could not be made. Findings that fire in the group for the first time stay as
// they were before the run, so that the next run tries again.
func (r *Run) Untold(g *Group) { g.isTold, g.hasFailed = false, true }

// settleGroups records the states of all rows, and of known findings whose rows could not be judged.
func (r *Run) settleGroups() {
	for i := range r.members {
		m := &r.members[i]
		if g := r.groups[m.after.Group]; g != nil && m.after.Phase == Firing {
			switch {
			case g.hasFailed && m.joins:
				m.after = m.before
			case g.heldBy != "":
				m.hold(g, r.res.Scope.Term, r.due)
			case g.isTold:
				m.after.Watched = m.row.Watched
			}
		}
		r.update(m.before, m.after, true)
	}
	for _, i := range r.errored {
		r.update(r.states[i], r.states[i], false)
	}
}

// hold changes the state of a member whose group is held back. No notice of this group has named a new member, so the
// new member gets an episode of its own. If all other members end before the group's next notice, that notice then has
// another id than the group's earlier notice.
func (m *member) hold(g *Group, term int64, due time.Time) {
	if m.joins {
		m.after.Baseline = false
	}
	if m.joins && (m.before.Phase != Firing || m.before.Ordinal > 0) {
		m.after.Term, m.after.Episode = term, due
		m.after.Priority, m.after.Watched, m.after.LastNotified, m.after.Ordinal, m.after.NoticeID = 0, "", time.Time{}, 0, ""
	}
	if m.joins || m.differs || g.Kind != Join && g.Kind != Differ {
		m.after.Silenced = g.heldBy
	}
}

func (r *Run) tellGroups() {
	for _, g := range r.telling {
		if g.isTold {
			r.res.tell(Tell{Kind: g.Kind, Group: g.Key, Change: g.changes[0], Members: g.changes, prior: priorOf(&g.prior)})
		}
	}
}
