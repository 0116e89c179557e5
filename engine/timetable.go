package engine

import (
	"container/heap"
	"container/list"
	"context"
	"sync"
	"time"
)

// timetable holds the units that wait for their next firing, and wakes each unit at its time. A waiting unit has no
// goroutine, because a node may have 100,000 units. Times are times of the engine's clock.
type timetable struct {
	clock Clock
	terms Terms
	// What a unit does when it is woken. Tests set another function than unit.work.
	work func(*unit, context.Context) (next time.Time, ok bool)
	most int // The places in a line: mostAwake, and fewer in some tests.
	// Signalled when another unit is the first to be woken.
	alarm chan struct{}

	termEnded <-chan struct{} // Closed when the clock term that was in force at the loop's last look has ended.
	last      time.Time       // When the loop last looked at the clock.

	mu     sync.Mutex
	ctx    context.Context //nolint:containedctx // The context of the runs: every unit gets it when it is woken.
	runs   *sync.WaitGroup // Counts the units that have started and not ended.
	asleep sleepers
	lines  map[lineID]*line
}

// waitingPlace is where a unit waits. The timetable's lock guards every field.
type waitingPlace struct {
	wake      int64         // When the unit is woken, in µs since 1970.
	index     int           // 1 + the unit's position among the sleepers. 0 means the unit does not sleep.
	at        *list.Element // The unit's element in line.waiting. Nil means the unit does not wait in a line.
	line      *line         // The line in which the unit waits or has a place. Nil means no line.
	abandoned time.Time     // The due time of a firing that a dead node has left, see Engine.reclaim. Zero means none.

	started   bool
	successor *unit // The unit that begins when this unit has ended. Nil means none.
}

// lineID names a line: the start of a rule's scopes on a source, or the firings that are about to ask a source.
type lineID struct{ rule, source string }

// line bounds how many units have a goroutine before their real work begins. A unit keeps its place only until the work
// begins or the unit waits for something that other units need not wait for; see release.
type line struct {
	id      lineID
	awake   int       // The units that have a place.
	waiting list.List // The waiting *units. First come, first served.
}

// mostAwake is the number of places in a line. mostAwake is larger than the 200 firings that a node claims in one
// statement, so that the next statement is full as well.
const mostAwake = 512

// mostSleep is the longest sleep of the timetable. The clock may be set and the machine may be suspended meanwhile, so
// the timetable looks again.
const mostSleep = time.Minute

func newTimetable(clock Clock, terms Terms, work func(*unit, context.Context) (time.Time, bool)) *timetable {
	return &timetable{
		clock: clock, terms: terms, work: work, most: mostAwake,
		alarm: make(chan struct{}, 1), lines: map[lineID]*line{},
	}
}

// open sets the context in which units run and the group that waits for their end. Call it before start and run. open
// looks at the clock and its term before any unit does. So run notices a term that ended, or a clock that went back,
// between open and run, and wakes the units.
func (t *timetable) open(ctx context.Context, runs *sync.WaitGroup) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ctx, t.runs = ctx, runs
	_, t.termEnded = t.terms.Term()
	t.last = t.clock.Now()
}

// start begins the life of a unit. A unit whose predecessor has not ended begins when the predecessor ends, and has no
// goroutine until then. A unit that was stopped before its start has ended already; start does nothing.
func (t *timetable) start(u *unit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u.isEnding() {
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

// begin puts the unit into its start line. The caller holds the lock.
func (t *timetable) begin(u *unit) {
	u.predecessor = nil
	t.rouse(u, u.startLine())
}

// live lets the unit work until the unit waits for its next firing, or has ended.
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

// finish marks the unit as ended and begins the life of its successor. The caller holds the lock.
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

// rouse gives the unit a goroutine as soon as the line has a place. The zero lineID means no line: the unit gets its
// goroutine at once. The caller holds the lock.
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

// advance gives free places in the line to the units that wait longest. The caller holds the lock.
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

// release gives up the unit's place in its line, if the unit has one. The unit calls it when its work has begun, or
// before it waits for something that other units need not wait for.
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

// sleep puts the unit to sleep until the time, or until an earlier reason to wake it. sleep returns false where such a
// reason exists already. After true the caller must not touch the unit: the goroutine that wakes the unit owns it.
func (t *timetable) sleep(u *unit, at time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u.isEnding() || u.termHasEnded() || !u.place.abandoned.IsZero() {
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

// end stops a unit. A unit that has not begun, that sleeps or that waits in a line has ended when end returns. A unit
// that works ends by itself. The predecessor of an ended unit may still be working.
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

// takeUp gives the unit an abandoned firing and wakes the unit. takeUp returns false where the unit already has one.
func (t *timetable) takeUp(u *unit, due time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !u.place.abandoned.IsZero() {
		return false
	}
	u.place.abandoned = due
	if u.place.index > 0 {
		heap.Remove(&t.asleep, u.place.index-1)
		t.rouse(u, u.dueLine())
	}
	return true
}

// takeAbandoned returns the due time of the unit's abandoned firing and clears it. Zero means there is none.
func (t *timetable) takeAbandoned(u *unit) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	due := u.place.abandoned
	u.place.abandoned = time.Time{}
	return due
}

// run wakes each unit at its time, until stop is closed. run wakes all units when the clock term ends or the clock was
// set back, because their wake times are wrong then. run calls turned at each turn of the loop. Call open first.
func (t *timetable) run(stop <-chan struct{}, turned func()) {
	for {
		turned()
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
		case <-t.termEnded:
			_, t.termEnded = t.terms.Term()
			t.wakeAll()
		case <-t.alarm:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// wakeDue wakes the units whose time has come. wakeDue returns how long to sleep until the next unit is due.
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

// wakeAll wakes every unit, in the order of the planned starts. Each unit then looks at the clock and its term.
func (t *timetable) wakeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.asleep) > 0 {
		u := heap.Pop(&t.asleep).(*unit) //nolint:forcetypeassert // sleepers are units
		t.rouse(u, u.startLine())
	}
}

// sleepers is a heap of units, ordered by wake time.
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
