package engine

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/ledger"
	"tallyman/rules"
)

// modelState is what a unit does, as the model knows it.
type modelState string

const (
	isBehind modelState = "waits for its predecessor"
	isInLine modelState = "stands in line"
	isWoken  modelState = "is awake"
	isAsleep modelState = "sleeps"
	isEnded  modelState = "has ended"
)

// modelUnit is a unit, and what it should do.
type modelUnit struct {
	*unit
	state       modelState
	line        *modelLine // that it stands in, or has a place of
	next        *modelUnit // begins when this one has ended
	told, left  bool
	term        int64
	at          time.Time
	times       int // that it was woken
	predecessor *modelUnit
}

// modelLine has units that wait, first come, first served.
type modelLine struct {
	places  int
	waiting []*modelUnit
}

// timetableModel is what a timetable should do.
type timetableModel struct {
	*scriptedUnits
	t      *rapid.T
	loops  bool
	units  []*modelUnit
	lines  map[lineID]*modelLine
	term   int64
	looked int64         // the term that the loop knows
	back   time.Duration // that the clock went back since the loop has looked
	made   int
}

// TestTimetable: whatever units do, each is woken once for each sleep, at its time, in the order of the planned starts,
// within the places of its line. No unit is lost.
func TestTimetable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(*testing.T) {
			m := &timetableModel{scriptedUnits: newScriptedUnits(), t: rt, lines: map[lineID]*modelLine{}}
			m.e.timetable.most = rapid.IntRange(1, 3).Draw(rt, "places")
			defer m.stopAll()
			for range rapid.IntRange(1, 60).Draw(rt, "steps") {
				rapid.SampledFrom([]func(){
					m.add, m.add, m.add, m.sleep, m.sleep, m.sleep, m.sleep, m.release, m.cancel, m.replace, m.replace, m.finish, m.takeUp, m.turn, m.pass, m.pass, m.begin,
				}).Draw(rt, "step")()
				m.settle()
				m.check()
			}
		})
	})
}

// pick draws a unit in one of the states. Nil means there is none.
func (m *timetableModel) pick(states ...modelState) *modelUnit {
	var list []*modelUnit
	for _, u := range m.units {
		if slices.Contains(states, u.state) {
			list = append(list, u)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[rapid.IntRange(0, len(list)-1).Draw(m.t, "which")]
}

func (m *timetableModel) make(scope, source string, alerts bool) *modelUnit {
	u := &modelUnit{unit: m.unit("r", scope, source)}
	if alerts {
		u.rule.OnError = rules.PolicyAlert
	}
	m.units = append(m.units, u)
	return u
}

func (m *timetableModel) add() {
	m.made++
	u := m.make(fmt.Sprint(m.made), rapid.SampledFrom([]string{"a", "b"}).Draw(m.t, "source"), rapid.IntRange(0, 4).Draw(m.t, "alerts") == 0)
	m.e.timetable.start(u.unit)
	m.rouse(u, u.startLine())
}

// rouse wakes the unit in its turn.
func (m *timetableModel) rouse(u *modelUnit, id lineID) {
	if id == (lineID{}) {
		m.wake(u)
		return
	}
	if m.lines[id] == nil {
		m.lines[id] = &modelLine{}
	}
	u.state, u.line = isInLine, m.lines[id]
	u.line.waiting = append(u.line.waiting, u)
	m.advance(u.line)
}

func (m *timetableModel) advance(l *modelLine) {
	for l.places < m.e.timetable.most && len(l.waiting) > 0 {
		u := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.places++
		m.wake(u)
	}
}

func (m *timetableModel) wake(u *modelUnit) {
	u.state, u.left, u.term = isWoken, false, m.term
	u.times++
}

func (m *timetableModel) giveUp(u *modelUnit) {
	if l := u.line; l != nil {
		u.line = nil
		l.places--
		m.advance(l)
	}
}

func (m *timetableModel) hasEnded(u *modelUnit) {
	u.state = isEnded
	if next := u.next; next != nil {
		u.next, next.predecessor = nil, nil
		m.rouse(next, next.startLine())
	}
}

// sleep makes an awake unit wait for a time, which may be over. The unit does not sleep where it has something to do.
func (m *timetableModel) sleep() {
	u := m.pick(isWoken)
	if u == nil {
		return
	}
	m.made++ // no two units have the same time
	at := m.clock.Now().Add(time.Duration(rapid.IntRange(-100, 300).Draw(m.t, "s"))*time.Second + time.Duration(m.made)*time.Microsecond)
	switch {
	case u.told:
		m.giveUp(u)
		m.hasEnded(u)
	case u.left || u.term != m.term:
		m.wake(u)
	default:
		m.giveUp(u)
		u.state, u.at = isAsleep, at
	}
	m.scriptedUnits.sleep(u.unit, at)
}

func (m *timetableModel) release() {
	if u := m.pick(isWoken); u != nil {
		m.e.timetable.release(u.unit)
		m.giveUp(u)
	}
}

func (m *timetableModel) finish() {
	if u := m.pick(isWoken); u != nil && u.told {
		m.giveUp(u)
		m.hasEnded(u)
		m.scriptedUnits.sleep(u.unit, time.Time{})
	}
}

// tell stops a unit. Only an awake unit has not ended afterwards.
func (m *timetableModel) tell(u *modelUnit) {
	m.e.crew.end(u.unit)
	u.told = true
	switch u.state {
	case isWoken:
		return
	case isInLine:
		l := u.line
		l.waiting = slices.DeleteFunc(l.waiting, func(other *modelUnit) bool { return other == u })
		u.line = nil
	case isBehind:
		u.predecessor.next = nil
	case isAsleep, isEnded:
	}
	m.hasEnded(u)
}

// untold returns a unit that was not stopped.
func (m *timetableModel) untold() *modelUnit {
	if u := m.pick(isBehind, isInLine, isWoken, isAsleep); u != nil && !u.told {
		return u
	}
	return nil
}

func (m *timetableModel) cancel() {
	if u := m.untold(); u != nil {
		m.tell(u)
	}
}

func (m *timetableModel) replace() {
	before := m.untold()
	if before == nil {
		return
	}
	m.tell(before)
	next := m.make(before.rule.Scope, rapid.SampledFrom([]string{"a", "b"}).Draw(m.t, "source"), before.alertsOnError())
	next.unit.predecessor = m.e.crew.ending[ledger.ScopeKey(next.rule.ID, next.rule.Scope)]
	m.e.timetable.start(next.unit)
	for _, u := range m.units {
		if u.rule.Scope == next.rule.Scope && u != next && u.state != isEnded {
			next.state, next.predecessor, u.next = isBehind, u, next
			return
		}
	}
	m.rouse(next, next.startLine())
}

func (m *timetableModel) takeUp() {
	u := m.untold()
	if u == nil {
		return
	}
	if took := m.e.timetable.takeUp(u.unit, time.Unix(1, 0)); took == u.left {
		m.t.Fatalf("a firing that was left is taken up: %v, and the unit knew of one: %v", took, u.left)
	}
	u.left = true
	if u.state == isAsleep {
		m.rouse(u, u.dueLine())
	}
}

func (m *timetableModel) turn() {
	back := rapid.SampledFrom([]time.Duration{0, 10 * time.Minute}).Draw(m.t, "back")
	m.clock.turn(back)
	m.term++
	m.back += back
}

func (m *timetableModel) pass() {
	d := time.Duration(rapid.IntRange(1, 200).Draw(m.t, "pass")) * time.Second
	for end := time.Now().Add(d); ; {
		wait := time.Until(end)
		if first := m.first(); m.loops && first != nil {
			wait = min(wait, first.at.Sub(m.clock.Now()))
		}
		time.Sleep(wait) //nolint:forbidigo // the bubble's clock
		synctest.Wait()
		m.settle()
		if !time.Now().Before(end) {
			return
		}
	}
}

func (m *timetableModel) begin() {
	if !m.loops {
		m.loops = true
		m.loop()
	}
}

// asleep returns the sleeping units, sorted by their times.
func (m *timetableModel) asleep() []*modelUnit {
	list := slices.DeleteFunc(slices.Clone(m.units), func(u *modelUnit) bool { return u.state != isAsleep })
	slices.SortFunc(list, func(a, b *modelUnit) int { return cmp.Compare(a.at.UnixMicro(), b.at.UnixMicro()) })
	return list
}

func (m *timetableModel) first() *modelUnit {
	if list := m.asleep(); len(list) > 0 {
		return list[0]
	}
	return nil
}

// settle wakes the units that the loop must wake.
func (m *timetableModel) settle() {
	synctest.Wait()
	if !m.loops {
		return
	}
	if m.back > time.Minute {
		m.wakeAll()
	}
	for _, u := range m.asleep() {
		if !u.at.After(m.clock.Now()) {
			m.rouse(u, u.dueLine())
		}
	}
	if m.looked != m.term {
		m.wakeAll()
	}
	m.looked, m.back = m.term, 0
}

func (m *timetableModel) wakeAll() {
	for _, u := range m.asleep() {
		m.rouse(u, u.startLine())
	}
}

// check compares each unit with the model.
func (m *timetableModel) check() {
	for _, u := range m.units {
		m.mu.Lock()
		times := len(m.woken[u.unit])
		m.mu.Unlock()
		if awake := m.isAwake(u.unit); awake != (u.state == isWoken) || u.hasEnded() != (u.state == isEnded) || times != u.times {
			m.t.Fatalf("scope %s: awake %v, ended %v, woken %d times; it %s and should have been woken %d times",
				u.rule.Scope, awake, u.hasEnded(), times, u.state, u.times)
		}
	}
}

// stopAll stops everything as the engine does, and checks that no unit is left.
func (m *timetableModel) stopAll() {
	list := make([]*unit, len(m.units))
	for i, u := range m.units {
		list[i] = u.unit
	}
	m.end(list)
	synctest.Wait()
	if n := len(m.e.timetable.asleep); n > 0 {
		m.t.Errorf("%d units are kept that slept", n)
	}
	if n := len(m.e.timetable.lines); n > 0 {
		m.t.Errorf("%d lines are kept", n)
	}
	for _, u := range m.units {
		if !u.hasEnded() || u.unit.predecessor != nil || u.place.successor != nil {
			m.t.Errorf("scope %s has not ended, or holds another unit", u.rule.Scope)
		}
	}
}
