package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
)

// setClock is a clock that a test sets back, and whose terms a test ends.
type setClock struct {
	mu    sync.Mutex
	back  time.Duration
	term  ledger.Term
	ended chan struct{}
}

func (c *setClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(-c.back)
}

func (*setClock) Real(d time.Duration) time.Duration { return d }

func (c *setClock) Term() (ledger.Term, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.term, c.ended
}

func (c *setClock) turn(back time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.back += back
	c.term = ledger.Term{Number: c.term.Number + 1, Began: time.Now().Add(-c.back), Back: back}
	close(c.ended)
	c.ended = make(chan struct{})
}

// scriptedUnits are units in a timetable whose work the test controls. A woken unit waits until the test says when it
// wants to be woken next, or that it has ended.
type scriptedUnits struct {
	clock *setClock
	e     *Engine
	runs  sync.WaitGroup
	stop  chan struct{} // of the timetable's loop

	mu    sync.Mutex
	awake map[*unit]chan time.Time // The zero time ends the unit.
	woken map[*unit][]time.Time    // by the engine's clock
}

func newScriptedUnits() *scriptedUnits {
	s := &scriptedUnits{
		clock: &setClock{ended: make(chan struct{})}, stop: make(chan struct{}),
		awake: map[*unit]chan time.Time{}, woken: map[*unit][]time.Time{},
	}
	s.e = &Engine{crew: crew{ending: map[string]*unit{}}, timetable: newTimetable(s.clock, s.clock, s.work)}
	s.e.timetable.open(context.Background(), &s.runs)
	return s
}

func (s *scriptedUnits) work(u *unit, _ context.Context) (time.Time, bool) { //nolint:revive // as the method of a unit takes them
	if u.isEnding() {
		return time.Time{}, false
	}
	u.term, u.termEnded = s.clock.Term()
	s.e.timetable.takeAbandoned(u)
	next := make(chan time.Time)
	s.mu.Lock()
	s.awake[u] = next
	s.woken[u] = append(s.woken[u], s.clock.Now())
	s.mu.Unlock()
	at := <-next
	s.mu.Lock()
	delete(s.awake, u)
	s.mu.Unlock()
	return at, !at.IsZero()
}

// unit returns a unit that has not been started, in a scope of a rule.
func (s *scriptedUnits) unit(rule, scope, source string) *unit {
	u := &unit{
		e: s.e, rule: &rules.Rule{ID: rule, Scope: scope, Source: source},
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	u.term, u.termEnded = s.clock.Term()
	return u
}

// units starts so many scopes of a rule, and returns their units in the order of the start.
func (s *scriptedUnits) units(n int, rule, source string) []*unit {
	list := make([]*unit, n)
	for i := range list {
		list[i] = s.unit(rule, fmt.Sprint(source, i), source)
		s.e.timetable.start(list[i])
	}
	synctest.Wait()
	return list
}

// loop begins the timetable's loop.
func (s *scriptedUnits) loop() {
	s.runs.Go(func() { s.e.timetable.run(s.stop, func() {}) })
	synctest.Wait()
}

// sleep makes an awake unit wait until that time.
func (s *scriptedUnits) sleep(u *unit, at time.Time) {
	s.mu.Lock()
	next := s.awake[u]
	s.mu.Unlock()
	next <- at
	synctest.Wait()
}

func (s *scriptedUnits) isAwake(u *unit) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.awake[u] != nil
}

// awakeOf returns the awake units of the list.
func (s *scriptedUnits) awakeOf(list []*unit) []*unit {
	return slices.DeleteFunc(slices.Clone(list), func(u *unit) bool { return !s.isAwake(u) })
}

// end stops the loop, ends all units as the engine does, and waits for them.
func (s *scriptedUnits) end(list []*unit) {
	close(s.stop)
	for _, u := range list {
		if !u.isEnding() {
			s.e.crew.end(u)
		}
	}
	synctest.Wait()
	for {
		awake := s.awakeOf(list)
		if len(awake) == 0 {
			break
		}
		for _, u := range awake {
			s.sleep(u, time.Time{})
		}
	}
	s.runs.Wait()
}

// TestATermThatEndsBeforeTheLoopBeginsWakesTheUnits: the wake times of units are of the earlier clock term. They must
// be woken even if the loop begins late, and whether or not the clock went back.
func TestATermThatEndsBeforeTheLoopBeginsWakesTheUnits(t *testing.T) {
	t.Parallel()
	for _, turns := range []int{1, 2, 3} {
		for _, back := range []time.Duration{0, 10 * time.Minute} {
			for before := range turns + 1 { // so many of the turns are before the loop begins
				t.Run(fmt.Sprint(turns, " ", before, " ", back), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						s := newScriptedUnits()
						u := s.units(1, "r", "a")[0]
						s.sleep(u, s.clock.Now().Add(time.Hour))
						for turn := range turns {
							if turn == before {
								s.loop()
							}
							s.clock.turn(back)
						}
						if before == turns {
							s.loop()
						}
						synctest.Wait()
						if !s.isAwake(u) {
							t.Error("the unit sleeps on in the new term")
						}
						s.end([]*unit{u})
					})
				})
			}
		}
	}
}

// TestAClockThatIsSetBackBeforeTheLoopBeginsWakesTheUnits: without Terms a clock that goes back begins no new term.
func TestAClockThatIsSetBackBeforeTheLoopBeginsWakesTheUnits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedUnits()
		u := s.units(1, "r", "a")[0]
		s.sleep(u, s.clock.Now().Add(time.Hour))
		s.clock.mu.Lock()
		s.clock.back = 10 * time.Minute
		s.clock.mu.Unlock()
		s.loop()
		if !s.isAwake(u) {
			t.Error("the unit sleeps on")
		}
		s.end([]*unit{u})
	})
}

// TestASourceThatHangsHoldsUpItsOwnScopesAlone: each rule and source has its own places for starting units.
func TestASourceThatHangsHoldsUpItsOwnScopesAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedUnits()
		s.e.timetable.most = 3
		s.loop()
		hanging := s.units(5, "r", "hangs")
		well := s.units(5, "r", "answers")
		other := s.units(2, "another rule", "hangs")
		if got := s.awakeOf(hanging); !slices.Equal(got, hanging[:3]) {
			t.Errorf("%d scopes start on the source that hangs, want the first 3", len(got))
		}
		if got := s.awakeOf(other); len(got) != 2 {
			t.Errorf("%d scopes of another rule start on the source that hangs, want 2", len(got))
		}
		for i, u := range well {
			if !s.isAwake(u) {
				t.Fatalf("scope %d of the other source waits for those of the source that hangs", i)
			}
			s.sleep(u, s.clock.Now().Add(time.Hour+time.Duration(i)*time.Second))
		}
		s.clock.turn(0) // all who sleep start anew
		synctest.Wait()
		for i, u := range well {
			if !s.isAwake(u) {
				t.Fatalf("scope %d of the other source waits in the new term for those of the source that hangs", i)
			}
			s.sleep(u, s.clock.Now().Add(time.Hour))
		}
		s.end(slices.Concat(hanging, well, other))
	})
}

// replace starts another unit in the place of this one, as a reload does.
func (s *scriptedUnits) replace(u *unit) *unit {
	next := s.unit(u.rule.ID, u.rule.Scope, u.rule.Source)
	s.e.crew.end(u)
	next.predecessor = s.e.crew.ending[ledger.ScopeKey(u.rule.ID, u.rule.Scope)]
	s.e.timetable.start(next)
	return next
}

// TestUnitsThatReplaceOthersKeepTheirPlacesInLine: a reload replaces units that sleep, work, wait in line or wait for
// their predecessors. Their successors start within the places of the line, like any new unit. Each begins, and none
// before its predecessor has ended.
func TestUnitsThatReplaceOthersKeepTheirPlacesInLine(t *testing.T) {
	t.Parallel()
	const most, units = 3, 10
	for name, prepare := range map[string]func(s *scriptedUnits) []*unit{
		"asleep": func(s *scriptedUnits) []*unit {
			list := s.units(units, "r", "a")
			for _, u := range list {
				s.sleep(u, s.clock.Now().Add(time.Hour))
			}
			return list
		},
		"at work": func(s *scriptedUnits) []*unit {
			list := s.units(units, "r", "a")
			for _, u := range list {
				s.e.timetable.release(u)
				synctest.Wait()
			}
			return list
		},
		"some start, others stand in line": func(s *scriptedUnits) []*unit { return s.units(units, "r", "a") },
		"some wait for units at work, others sleep": func(s *scriptedUnits) []*unit {
			list := s.units(units, "r", "a")
			for i, u := range list {
				if i%2 == 0 {
					s.sleep(u, s.clock.Now().Add(time.Hour))
					continue
				}
				s.e.timetable.release(u)
				synctest.Wait()
				list[i] = s.replace(u)
			}
			return list
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScriptedUnits()
				s.e.timetable.most = most
				s.loop()
				before := prepare(s)
				busy := s.allAwake()
				next := make([]*unit, units)
				for i, u := range before {
					next[i] = s.replace(u)
				}
				synctest.Wait()
				for _, u := range busy {
					for _, n := range s.awakeOf(next) {
						if n.rule.Scope == u.rule.Scope {
							t.Fatal("a unit has begun before its predecessor has ended")
						}
					}
				}
				for _, u := range busy {
					s.sleep(u, time.Time{})
				}
				for begun := range units {
					awake := s.awakeOf(next)
					if len(awake) != min(most, units-begun) {
						t.Fatalf("%d units start at a time after %d have started, want %d", len(awake), begun, min(most, units-begun))
					}
					s.sleep(awake[0], s.clock.Now().Add(time.Hour))
				}
				for _, u := range next {
					if len(s.woken[u]) != 1 {
						t.Errorf("a unit was woken %d times", len(s.woken[u]))
					}
				}
				s.end(next)
				if len(s.e.timetable.lines) > 0 || len(s.e.timetable.asleep) > 0 {
					t.Errorf("the timetable keeps %d lines and %d sleepers", len(s.e.timetable.lines), len(s.e.timetable.asleep))
				}
			})
		})
	}
}

// allAwake returns the awake units.
func (s *scriptedUnits) allAwake() (list []*unit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for u := range s.awake {
		list = append(list, u)
	}
	return list
}
