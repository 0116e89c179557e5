package finding

import (
	"cmp"
	"slices"
	"time"
)

// member is a row of a rule that groups.
type member struct {
	before, after State
	joins         bool // it fires in the group for the first time
	priority      int
}

// Group is a group that wants a notice.
type Group struct {
	Key  string
	Kind Kind
	Rows []int // which calls of Join showed its firing members, in the order of their keys; repeated rows do not count

	prior    State // a member as it was told before; its Phase is 0 where none fired
	after    State // what its members are told
	priority int   // the highest of Rows
	joined   bool
	told     bool
	untold   bool
	heldBy   string // what holds it back; "" = nothing does
	changes  []int
}

// Join is Look and See of a row of a rule that groups. Whether it is told is decided when all rows have been seen.
// It tells whether the key has come before: then the row does not count.
func (r *Run) Join(key, group string, priority int) (repeated bool) {
	before, repeated := r.find(key)
	if repeated {
		return true
	}
	r.decided(key)
	m := r.policy.join(before, group, r.res.Scope.Clock, r.due)
	m.priority = priority
	r.members = append(r.members, m)
	return false
}

// join is decide for a finding in a group.
func (p Policy) join(before State, group string, clock time.Duration, due time.Time) member {
	st := before
	if st.Phase == 0 {
		st.Phase, st.Episode, st.SeenClock = Pending, due, clock
	}
	st.Group, st.AbsentSince, st.Silenced = group, time.Time{}, ""
	if st.Phase == Pending && clock-st.SeenClock >= p.For {
		st.Phase, st.FiringSince = Firing, due
	}
	joins := st.Phase == Firing && (before.Phase != Firing || before.Group != group || before.Ordinal == 0)
	return member{before: before, after: st, joins: joins}
}

// Groups returns the groups that want a notice, in the order of their keys, after all rows have been seen. They are told
// unless Untold or HoldGroup is called.
func (r *Run) Groups() []*Group {
	r.groups = map[string]*Group{}
	for i := range r.members {
		r.gather(i)
	}
	r.recall()
	var list []*Group
	for _, g := range r.groups {
		if r.decideGroup(g); g.Kind != None {
			g.told = true
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

// gather puts a row to its group.
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
	g.priority = max(g.priority, m.priority)
}

// recall finds out how the groups were told before. Members of one group know the same, but those that were held back from the first; should
// they not, the latest counts.
func (r *Run) recall() {
	if len(r.groups) == 0 {
		return
	}
	for i := range r.states {
		st := &r.states[i]
		if g := r.groups[st.Group]; g != nil && st.Phase == Firing && (g.prior.Phase == 0 || later(st, &g.prior)) {
			g.prior = *st
		}
	}
}

func later(a, b *State) bool {
	return cmp.Or(a.LastNotified.Compare(b.LastNotified), cmp.Compare(a.Ordinal, b.Ordinal), b.Episode.Compare(a.Episode), cmp.Compare(b.Key, a.Key)) > 0
}

// decideGroup is decide for a group.
func (r *Run) decideGroup(g *Group) {
	switch {
	case g.prior.Phase == 0:
		g.Kind = Fire
		g.prior.Group, g.prior.Episode = g.Key, r.due
	case g.prior.Ordinal == 0:
		g.Kind = Fire // all this time it was held back; its episode began when the first of it fired
	case g.joined:
		g.Kind = Join
	case g.priority > g.prior.Priority:
		g.Kind = Rise
	case r.policy.RepeatInterval > 0 && r.due.Sub(g.prior.LastNotified) >= r.policy.RepeatInterval:
		g.Kind = Remind
	}
	g.after = g.prior.told(g.priority, r.due)
}

// on is the member with what its group was told.
func (g *Group) on(st State) State {
	st.Episode, st.Priority, st.LastNotified = g.after.Episode, g.after.Priority, g.after.LastNotified
	st.Ordinal, st.NoticeID = g.after.Ordinal, g.after.NoticeID
	st.Silenced = ""
	return st
}

// HoldGroup takes a group back that is not told, although it should be: by names what holds it back. Its members fire, and those that fire in it
// for the first time do so again in the next run.
func (r *Run) HoldGroup(g *Group, by string) { g.told, g.heldBy = false, by }

// Untold takes a group back that no notice could be made of. The rows that fire in it for the first time leave their
// findings as they were, so that the next run tries again.
func (r *Run) Untold(g *Group) { g.told, g.untold = false, true }

// settleGroups counts the rows, and those members of the groups whose rows could not be judged.
func (r *Run) settleGroups() {
	for i := range r.members {
		m := &r.members[i]
		if g := r.groups[m.after.Group]; g != nil && m.after.Phase == Firing {
			switch {
			case g.untold && m.joins:
				m.after = m.before
			case g.heldBy != "":
				m.hold(g, r.due)
			}
		}
		r.update(m.before, m.after, true)
	}
	for _, i := range r.errored {
		r.update(r.states[i], r.states[i], false)
	}
}

// hold is the member of a group that is held back. One that comes from another group has left that, and nothing was told of it in this one; it has an
// episode of its own, so that what is told of the group once all that were told have gone is another notice than they had.
func (m *member) hold(g *Group, due time.Time) {
	if m.joins && (m.before.Phase != Firing || m.before.Ordinal > 0) {
		m.after.Episode = due
		m.after.Priority, m.after.LastNotified, m.after.Ordinal, m.after.NoticeID = 0, time.Time{}, 0, ""
	}
	if m.joins || g.Kind != Join {
		m.after.Silenced = g.heldBy
	}
}

func (r *Run) tellGroups() {
	for _, g := range r.telling {
		if g.told {
			r.res.tell(Tell{Kind: g.Kind, Group: g.Key, Change: g.changes[0], Members: g.changes, prior: priorOf(&g.prior)})
		}
	}
}
