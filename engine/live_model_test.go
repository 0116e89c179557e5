package engine_test

import (
	"fmt"
	"slices"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
)

// A model of rules that are operated while they run: what their files and switches say, which nodes have which rules,
// and which firings must have run, been skipped and sent notices. In the model a run takes no time, except that a rule
// can be busy.

// liveFile is a rule in a rule file.
type liveFile struct {
	there, enabled bool
	version        int
}

// liveLine is a rule in a scope.
type liveLine struct {
	rule, scope string
	every       time.Duration
	known       time.Time // when the ledger heard of it first; zero = it does not know it
	done        time.Time // everything up to there was run or left out
	busy        time.Time // until when its last run takes
	there, open bool      // the source has the row; it was told

	ran  []time.Time
	left []string
	told []string
}

// liveNode is a node: the files that it last read, and the lines that it runs.
type liveNode struct {
	on     bool
	files  map[string]liveFile
	units  map[*liveLine]int // the version of each
	looks  time.Time         // when it sees whether the state of removed rules can be closed; zero = it is
	rested bool              // the last time all nodes had the same files
}

type liveModel struct {
	now      time.Time
	slow     time.Duration // how long a run takes
	catchUp  rules.CatchUp
	disk     map[string]liveFile
	switches map[string]ledger.Switch // by ledger.ScopeKey
	lines    []*liveLine
	nodes    []*liveNode
}

// obeys returns the switches of a line, the strongest first.
func (l *liveLine) obeys() []string {
	return []string{ledger.ScopeKey("*", "*"), ledger.ScopeKey(l.rule, l.scope), ledger.ScopeKey(l.rule, "*")}
}

func over(s ledger.Switch, at time.Time) bool { return !s.Until.IsZero() && !s.Until.After(at) }

// enabled tells whether a node that has those files runs the line.
func (m *liveModel) enabled(n *liveNode, l *liveLine) bool {
	if !n.files[l.rule].there {
		return false
	}
	for _, id := range l.obeys() {
		if s, ok := m.switches[id]; ok && s.State != ledger.SwitchCleared && !over(s, m.now) {
			return s.State == ledger.SwitchOn
		}
	}
	return n.files[l.rule].enabled
}

// free returns when a switch of the line last changed or ended.
func (m *liveModel) free(l *liveLine) (at time.Time) {
	for _, id := range l.obeys() {
		s, ok := m.switches[id]
		touched := s.At
		if s.State != ledger.SwitchCleared && over(s, m.now) {
			touched = s.Until
		}
		if ok && touched.After(at) {
			at = touched
		}
	}
	return at
}

// dues returns the due times after from, up to until.
func (l *liveLine) dues(from, until time.Time) (list []time.Time) {
	for at := from.Truncate(l.every).Add(l.every); !at.After(until); at = at.Add(l.every) {
		list = append(list, at)
	}
	return list
}

// settle gives a node a unit for each enabled line. since is when the node has just read its files; zero means it has
// not.
func (m *liveModel) settle(n *liveNode, since time.Time) {
	for _, l := range m.lines {
		version, has := n.units[l]
		switch wanted := n.on && m.enabled(n, l); {
		case !wanted:
			delete(n.units, l)
		case !has && !since.IsZero():
			m.begin(l, since, 15*time.Second)
		case !has:
			m.begin(l, m.free(l), 0)
		case version != n.files[l.rule].version:
			m.begin(l, time.Time{}, 0)
		}
		if n.on && m.enabled(n, l) {
			n.units[l] = n.files[l.rule].version
		}
	}
}

// begin makes a node take a line up. It skips firings due before from, and catches up on later firings that no node
// ran.
func (m *liveModel) begin(l *liveLine, from time.Time, others time.Duration) {
	if l.known.IsZero() {
		l.known = m.now
	}
	base := l.base()
	if frozen := l.dues(base, from); len(frozen) > 0 {
		m.freeze(l, from.Add(-others))
		base = frozen[len(frozen)-1]
	}
	missed := l.dues(base, m.now)
	switch {
	case len(missed) == 0 || m.catchUp == rules.CatchUpNone:
		return
	case m.catchUp == rules.CatchUpOnce:
		missed = missed[len(missed)-1:]
	}
	for _, due := range missed {
		m.run(l, due)
	}
}

func (l *liveLine) base() time.Time {
	if l.done.IsZero() {
		return l.known
	}
	return l.done
}

// freeze records the firings that were due and skipped.
func (m *liveModel) freeze(l *liveLine, until time.Time) {
	frozen := l.dues(l.base(), until)
	if len(frozen) == 0 {
		return
	}
	l.done = frozen[len(frozen)-1]
	reason := fmt.Sprintf("%d firings came due", len(frozen))
	if len(frozen) == 1 {
		reason = "a firing came due"
	}
	l.left = append(l.left, fmt.Sprintf("%s disabled: %s while the rule was disabled", l.done.Format(time.TimeOnly), reason))
}

// run runs a firing, unless it is done.
func (m *liveModel) run(l *liveLine, due time.Time) {
	if !due.After(l.done) {
		return
	}
	l.ran, l.done, l.busy = append(l.ran, due), due, m.now.Add(m.slow)
	switch {
	case l.there && !l.open:
		l.told = append(l.told, "firing")
	case !l.there && l.open:
		l.told = append(l.told, "resolved")
	}
	l.open = l.there
}

// order runs a firing that an operator has asked a node for.
func (m *liveModel) order(n *liveNode, l *liveLine) {
	if l.known.IsZero() {
		l.known = m.now
	}
	if _, has := n.units[l]; !has {
		m.freeze(l, m.now)
	}
	due := m.now
	if !l.done.Before(due) {
		due = l.done.Add(time.Microsecond)
	}
	m.run(l, due)
}

// read makes a node read the files.
func (m *liveModel) read(n *liveNode) {
	n.files = map[string]liveFile{}
	for id, f := range m.disk {
		if f.there {
			n.files[id] = f
		}
	}
	n.looks, n.rested = m.now, false
}

// pass lets time pass, in steps at which something may happen by itself.
func (m *liveModel) pass(until time.Time) {
	const step = 5 * time.Second
	for m.now = m.now.Add(step); !m.now.After(until); m.now = m.now.Add(step) {
		for _, n := range m.nodes {
			m.settle(n, time.Time{}) // a switch may have ended
			m.forget(n)
		}
		for _, l := range m.lines {
			if m.now.Truncate(l.every).Equal(m.now) && slices.ContainsFunc(m.nodes, func(n *liveNode) bool { _, has := n.units[l]; return has }) {
				m.run(l, m.now)
			}
		}
	}
	m.now = until
}

// forget closes the state of rules that the node's files do not have, once all nodes have had the same files for half a
// minute.
func (m *liveModel) forget(n *liveNode) {
	if !n.on || n.looks.IsZero() || m.now.Before(n.looks) {
		return
	}
	for _, other := range m.nodes {
		if other.on && fmt.Sprint(other.files) != fmt.Sprint(n.files) {
			n.rested = false
			return
		}
	}
	if !n.rested {
		n.looks, n.rested = m.now.Add(30*time.Second), true
		return
	}
	if s, ok := m.switches[ledger.ScopeKey("*", "*")]; ok && s.State == ledger.SwitchOff && !over(s, m.now) {
		n.looks = m.now.Add(5 * time.Second)
		return
	}
	n.looks = time.Time{}
	for _, l := range m.lines {
		if !n.files[l.rule].there {
			if l.open {
				l.told = append(l.told, "resolved")
			}
			l.known, l.done, l.open = time.Time{}, time.Time{}, false
		}
	}
}
