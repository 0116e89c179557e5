package engine

import (
	"container/heap"
	"container/list"
	"context"
	"sync"
	"time"
)

// timetable holds the units that wait for their next firing. A unit that waits has no goroutine: a node has 100,000 of them. Times are those of the engine's clock.
type timetable struct {
	clock Clock
	terms Terms
	work  func(*unit, context.Context) (next time.Time, ok bool) // what a unit does when it is woken, see unit.work
	most  int                                                    // how many units of a line have a place
	alarm chan struct{}                                          // has one when the first of those that wait is another one

	turned <-chan struct{} // closed when the clock term has ended that was in force when the loop looked last
	last   time.Time       // when the loop looked at the clock last

	mu     sync.Mutex
	ctx    context.Context //nolint:containedctx // of the runs, which every unit gets when it is woken
	runs   *sync.WaitGroup // has one for each unit that has not ended
	asleep sleepers
	lines  map[lineID]*line
}

// waitingPlace is where a unit waits. The timetable's lock guards it.
type waitingPlace struct {
	wake  int64         // when to wake it, in µs
	index int           // 1 + the position among the sleepers; 0 = it does not sleep
	at    *list.Element // in its line; nil = it does not stand in one
	line  *line         // whose place the unit has; nil = none
	left  time.Time     // due time of a firing that a dead node has left, see Engine.reclaim; zero = there is none

	started   bool
	successor *unit // waits for the end of this one; nil = none does
}

// lineID names a line: of a rule whose scopes start on a source, or of a source that firings are about to ask.
type lineID struct{ rule, source string }

// line bounds how many units have a goroutine before they have anything to do: the units wait for each other, not for what holds one of them up.
type line struct {
	id      lineID
	awake   int
	waiting list.List // of *unit; first come, first served
}

// mostAwake is how many units of a line have a place: timetable.most, but in tests. A node that claims 200 firings in a statement has more of them at hand.
const mostAwake = 512

// mostSleep is how long the timetable sleeps at most: clocks are set, and machines sleep.
const mostSleep = time.Minute

func newTimetable(clock Clock, terms Terms, work func(*unit, context.Context) (time.Time, bool)) *timetable {
	return &timetable{
		clock: clock, terms: terms, work: work, most: mostAwake,
		alarm: make(chan struct{}, 1), lines: map[lineID]*line{},
	}
}

// open says in which context units run, and who waits for their end. It looks at clock and term before any unit does: a term that ends, or a clock that goes
// back, while units sleep and the loop has not begun wakes them when the loop begins.
func (t *timetable) open(ctx context.Context, runs *sync.WaitGroup) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ctx, t.runs = ctx, runs
	_, t.turned = t.terms.Term()
	t.last = t.clock.Now()
}

// start begins the life of a unit. One whose predecessor has not ended begins when that one ends, and has no goroutine until then. One that was told to end has ended.
func (t *timetable) start(u *unit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u.isTold() {
		return
	}
	u.place.started = true
	t.runs.Add(1)
	if u.predecessor != nil && !u.predecessor.hasEnded() {
		u.predecessor.place.successor = u
		return
	}
	t.begin(u)
}

// begin has the unit stand in the line of those that start. The caller holds the lock.
func (t *timetable) begin(u *unit) {
	u.predecessor = nil
	t.rouse(u, u.startLine())
}

// live has the unit work until it waits for its next firing, or has ended.
func (t *timetable) live(ctx context.Context, u *unit) {
	for {
		next, ok := t.work(u, ctx)
		if !ok {
			break
		}
		if t.sleep(u, next) {
			return
		}
	}
	u.expect(time.Time{})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.giveUp(u)
	t.finish(u)
}

// finish says that the unit has ended, and begins the life of its successor. The caller holds the lock.
func (t *timetable) finish(u *unit) {
	close(u.stopped)
	u.predecessor = nil
	if u.place.started {
		t.runs.Done()
	}
	if next := u.place.successor; next != nil {
		u.place.successor = nil
		t.begin(next)
	}
}

// rouse gives the unit a goroutine, once its line has a place for it. The caller holds the lock.
func (t *timetable) rouse(u *unit, id lineID) {
	if id == (lineID{}) {
		go t.live(t.ctx, u)
		return
	}
	l := t.lines[id]
	if l == nil {
		l = &line{id: id}
		t.lines[id] = l
	}
	u.place.at = l.waiting.PushBack(u)
	u.place.line = l
	t.advance(l)
}

// advance lets the next of a line go on while there is a place. The caller holds the lock.
func (t *timetable) advance(l *line) {
	for l.awake < t.most && l.waiting.Len() > 0 {
		u := l.waiting.Remove(l.waiting.Front()).(*unit) //nolint:forcetypeassert // rouse puts nothing else in
		u.place.at = nil
		l.awake++
		go t.live(t.ctx, u)
	}
	if l.awake == 0 && l.waiting.Len() == 0 {
		delete(t.lines, l.id)
	}
}

// release gives up the unit's place in its line: the unit has begun its work, or waits for something that others need not wait for.
func (t *timetable) release(u *unit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.giveUp(u)
}

func (t *timetable) giveUp(u *unit) {
	if l := u.place.line; l != nil {
		u.place.line = nil
		l.awake--
		t.advance(l)
	}
}

// sleep has the unit woken at that time, or earlier if there is a reason. It returns false where there is one now. After true the unit belongs to whoever wakes it.
func (t *timetable) sleep(u *unit, at time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u.isTold() || u.hasTurned() || !u.place.left.IsZero() {
		return false
	}
	t.giveUp(u)
	u.place.wake = at.UnixMicro()
	heap.Push(&t.asleep, u)
	if u.place.index == 1 {
		signal(t.alarm)
	}
	return true
}

// end tells a unit to end. One that has not begun, that sleeps or stands in a line has ended by that; its predecessor may not have.
func (t *timetable) end(u *unit) {
	if t.takeOut(u) {
		u.expect(time.Time{})
	}
}

func (t *timetable) takeOut(u *unit) (ended bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(u.stop)
	switch {
	case !u.place.started:
	case u.place.index > 0:
		heap.Remove(&t.asleep, u.place.index-1)
	case u.place.at != nil:
		l := u.place.line
		l.waiting.Remove(u.place.at)
		u.place.at, u.place.line = nil, nil
		t.advance(l)
	case u.predecessor != nil:
		u.predecessor.place.successor = nil
		u.predecessor = nil
	default:
		return false
	}
	t.finish(u)
	return true
}

// takeUp has the unit take up a firing that was left. It returns false where the unit knows of one already.
func (t *timetable) takeUp(u *unit, due time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !u.place.left.IsZero() {
		return false
	}
	u.place.left = due
	if u.place.index > 0 {
		heap.Remove(&t.asleep, u.place.index-1)
		t.rouse(u, u.dueLine())
	}
	return true
}

// takeLeft returns the due time of a firing that was left; zero = there is none.
func (t *timetable) takeLeft(u *unit) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := u.place.left
	u.place.left = time.Time{}
	return left
}

// run wakes the units when their time has come, until stop is closed. It wakes them all when the clock term ends, or when the clock was set back. open has been called.
func (t *timetable) run(stop <-chan struct{}) {
	for {
		now := t.clock.Now()
		if t.last.Sub(now) > time.Minute {
			t.wakeAll()
		}
		t.last = now
		timer := time.NewTimer(t.wakeDue(now))
		select {
		case <-stop:
			timer.Stop()
			return
		case <-t.turned:
			_, t.turned = t.terms.Term()
			t.wakeAll()
		case <-t.alarm:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// wakeDue wakes the units whose time has come, and returns how long it is until the next.
func (t *timetable) wakeDue(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.asleep) > 0 {
		u := t.asleep[0]
		if wait := time.UnixMicro(u.place.wake).Sub(now); wait > 0 {
			return max(min(t.clock.Real(wait), mostSleep), time.Microsecond)
		}
		heap.Pop(&t.asleep)
		t.rouse(u, u.dueLine())
	}
	return mostSleep
}

// wakeAll has every unit look at the clock and its term, in the order of their planned starts.
func (t *timetable) wakeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.asleep) > 0 {
		u := heap.Pop(&t.asleep).(*unit) //nolint:forcetypeassert // sleepers are units
		t.rouse(u, u.startLine())
	}
}

// sleepers are units by the time at which they are woken; a heap.
type sleepers []*unit

// Len implements heap.Interface.
func (s *sleepers) Len() int { return len(*s) }

// Less implements heap.Interface.
func (s *sleepers) Less(i, j int) bool { return (*s)[i].place.wake < (*s)[j].place.wake }

// Swap implements heap.Interface.
func (s *sleepers) Swap(i, j int) {
	list := *s
	list[i], list[j] = list[j], list[i]
	list[i].place.index, list[j].place.index = i+1, j+1
}

// Push implements heap.Interface.
func (s *sleepers) Push(u any) {
	unit := u.(*unit) //nolint:forcetypeassert // the timetable pushes nothing else
	*s = append(*s, unit)
	unit.place.index = len(*s)
}

// Pop implements heap.Interface.
func (s *sleepers) Pop() any {
	old := *s
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*s = old[:len(old)-1]
	last.place.index = 0
	return last
}
