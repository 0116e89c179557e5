package queue

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"tallyman/internal/item"
)

// model is what a line should be, in plain words.
type model struct {
	now      int64 // µs
	settings item.Settings
	paused   bool

	items  map[string]*modelItem // unfinished
	ended  map[int64]*modelItem  // by seq
	last   int64                 // place
	dedupe map[string]held
	asked  map[string]*modelAnswer // by caller: the last request
	over   map[string]bool         // the requests that others have followed
	lives  map[int64]int64         // by seq: the moves of the lives before
}

// first is how often an item had moved when its life began.
func (m *model) first(i *modelItem) int64 { return m.lives[i.Seq] }

type held struct {
	until, keep int64
	id          string
}

type modelAnswer struct {
	id       string
	outcomes []item.Outcome
	leased   []modelLease
	over     bool // nothing was done
	final    bool // nothing more is leased
}

type modelLease struct {
	id      string
	attempt int
}

// common are the items of a level that are ready for anybody: those of all warehouses in the order of service.
func (m *model) common(level int) []*modelItem {
	list := m.ready(level, func(i *modelItem) bool { return i.Assignee == "" })
	slices.SortFunc(list, func(a, b *modelItem) int {
		return cmp.Or(cmp.Compare(a.score(), b.score()), cmp.Compare(a.source(), b.source()), cmp.Compare(a.member(), b.member()))
	})
	return list
}

// own are the items of a level that are ready for one worker alone, in the order of service.
func (m *model) own(level int) []*modelItem {
	list := m.ready(level, func(i *modelItem) bool { return i.Assignee != "" })
	slices.SortFunc(list, func(a, b *modelItem) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Assignee, b.Assignee))
	})
	return list
}

func (m *model) ready(level int, wanted func(*modelItem) bool) []*modelItem {
	var list []*modelItem
	for _, i := range m.items {
		if i.State == item.Ready && i.Priority == level && wanted(i) {
			list = append(list, i)
		}
	}
	return list
}

// nextPlace is behind all others.
func (m *model) nextPlace() int64 {
	m.last = max(m.last+1, m.now)
	return m.last
}

func (m *model) at(us int64) time.Time { return time.UnixMicro(us).UTC() }

// push is enqueue.lua.
func (m *model) push(records []item.Record) []string {
	answers := make([]string, len(records))
	for n, r := range records {
		if known := m.items[r.ID]; known != nil {
			answers[n] = enqueuedExists
			if known.Warehouse != r.Warehouse {
				answers[n] = enqueuedElsewhere
			}
			continue
		}
		if r.Bucket != "" {
			h, taken := m.dedupe[r.Bucket]
			own := r.Moves > 0 && h.id == r.ID // of its life before
			if taken && !own && (h.until == 0 || strings.HasPrefix(r.Bucket, "d") || r.Created.UnixMicro() < h.until) {
				answers[n] = h.id
				continue
			}
			h = held{until: toMicro(r.Until), id: r.ID}
			if h.until > 0 {
				h.keep = r.Until.Add(keepWindow).UnixMicro()
			}
			m.dedupe[r.Bucket] = h
		}
		i := &modelItem{due: toMicro(r.Due), until: r.Until, Item: item.Item{
			ID: r.ID, Warehouse: r.Warehouse, State: r.State, Priority: r.Priority, Order: r.Order, Payload: r.Payload, Created: r.Created, Ready: r.Ready, Seq: r.Seq, Bucket: r.Bucket,
			Moves: r.Moves, Attempt: r.Attempt,
		}}
		m.items[r.ID] = i
		if i.State == item.Ready {
			i.place = m.nextPlace()
		}
	}
	for bucket, h := range m.dedupe {
		if h.keep > 0 && h.keep <= m.now {
			delete(m.dedupe, bucket)
		}
	}
	return answers
}

// modelCall is one call of step.lua.
type modelCall struct {
	*model
	tails []*modelItem // that get a new place
}

func (c *modelCall) moveTo(i *modelItem, to item.State, due int64) {
	c.tails = slices.DeleteFunc(c.tails, func(other *modelItem) bool { return other == i })
	i.State, i.due, i.Worker = to, due, ""
	i.Moves++
	i.revision = nil
	if i.news != nil && !to.Ended() {
		i.set(i.news)
	}
	i.news, i.News = nil, false
	if to == item.Done || to == item.Removed {
		delete(c.items, i.ID)
		c.ended[i.Seq] = i
		if h := c.dedupe[i.Bucket]; h.id == i.ID && (to == item.Removed || h.until == 0) {
			delete(c.dedupe, i.Bucket)
		}
	}
}

func (c *modelCall) tail(i *modelItem) {
	c.moveTo(i, item.Ready, 0)
	i.Ready = c.at(c.now)
	c.tails = append(c.tails, i)
}

func (c *modelCall) fail(i *modelItem, delay time.Duration, put func(*modelItem)) {
	i.Failures++
	switch {
	case c.settings.MaxAttempts != item.NoLimit && i.Failures >= c.settings.MaxAttempts:
		c.moveTo(i, item.Dead, c.now)
	case delay > 0:
		c.moveTo(i, item.Delayed, c.now+delay.Microseconds())
	default:
		put(i)
	}
}

// back makes an item ready at the place that it had.
func (c *modelCall) back(i *modelItem) { c.moveTo(i, item.Ready, 0) }

func (c *modelCall) op(by *item.Caller, o item.Op) item.Outcome {
	i := c.items[o.ID]
	if i != nil && !by.Scope.Has(i.Warehouse) {
		i = nil
	}
	leased := i != nil && i.State == item.Leased
	switch {
	case o.Attempt > 0 && (!leased || i.Attempt != o.Attempt || by.OwnLeases && subjectOf(i.Worker) != subjectOf(by.Name())):
		return item.LeaseLost
	case i == nil:
		return item.NotFound
	case o.Attempt == 0 && leased && !o.Force:
		return item.IsLeased
	case o.Kind == item.Remove && o.Seq != 0 && o.Seq != i.Seq:
		return item.NotFound
	case o.Kind == item.Requeue && i.State != item.Dead:
		return item.NotDead
	case i.State == item.Dead && o.Kind != item.Requeue && o.Kind != item.Remove && o.Kind != item.Set:
		return item.IsDead
	}
	switch o.Kind {
	case item.Ack, item.Finish:
		c.moveTo(i, item.Done, 0)
	case item.Remove:
		c.moveTo(i, item.Removed, 0)
	case item.Nack:
		c.fail(i, o.Delay, c.tail)
	case item.Release:
		c.back(i)
	case item.Extend:
		i.due = c.now + cmp.Or(o.Delay, c.settings.Lease).Microseconds()
	case item.Suspend:
		if i.Suspends >= len(c.settings.SuspendSteps) {
			return item.SuspendLimit
		}
		i.Suspends++
		c.moveTo(i, item.Suspended, c.now+c.settings.SuspendSteps[i.Suspends-1].Microseconds())
	case item.Store:
		i.Suspends = 0
		c.moveTo(i, item.Stored, c.now+o.Delay.Microseconds())
	case item.Requeue:
		i.Failures = 0
		c.tail(i)
	case item.Assign:
		c.assign(i, o.Worker)
	case item.Set:
		if leased && o.Set.Source == 0 {
			return item.IsLeased
		}
		i.Moves++
		before := i.Item
		i.set(o.Set)
		if leased { // only then
			i.revision.Later = true
			i.Priority, i.Order, i.Payload = before.Priority, before.Order, before.Payload
			i.news, i.News = o.Set, true
		}
	}
	return item.OK
}

func (c *modelCall) assign(i *modelItem, worker string) {
	if i.State == item.Leased {
		i.Assignee = worker
		c.back(i)
		return
	}
	if i.Assignee == worker {
		return
	}
	i.Assignee = worker
	if i.State == item.Ready {
		c.tail(i)
	} else {
		c.moveTo(i, i.State, i.due)
	}
}

// settle gives places to what became ready.
func (c *modelCall) settle() {
	for _, i := range c.tails {
		i.place = c.nextPlace()
	}
	c.tails = nil
}

// subjectOf is the subject of a caller's name, or the name where it has none.
func subjectOf(name string) string {
	subject, _, _ := strings.Cut(name, item.NameSeparator)
	return subject
}

// due returns the items of a state whose time has come, in the order of their times.
func (c *modelCall) due(state item.State) []*modelItem {
	var out []*modelItem
	for _, i := range c.items {
		if i.State == state && i.due <= c.now {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b *modelItem) int {
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(warehouseName(a.Warehouse), warehouseName(b.Warehouse)), cmp.Compare(a.ID, b.ID))
	})
	return out
}

func (c *modelCall) lease(s item.Step, lease time.Duration) (leased []modelLease) {
	name := s.Name()
	take := func(list []*modelItem) {
		for _, i := range list {
			mine := i.Assignee == "" || i.Assignee == name || i.Assignee == s.Subject
			if len(leased) == s.Max || !mine || !s.Scope.Has(i.Warehouse) {
				continue
			}
			i.State, i.due, i.Worker = item.Leased, c.now+lease.Microseconds(), name
			i.Attempt++
			i.Moves++
			i.revision = nil
			leased = append(leased, modelLease{i.ID, i.Attempt})
		}
	}
	for level := item.HighestPriority; level >= item.LowestPriority; level-- {
		take(c.own(level))
		take(c.common(level))
	}
	return leased
}

// step is one call of step.lua for some requests.
func (m *model) step(requests []*request) []modelAnswer {
	c := &modelCall{model: m}
	answers := make([]modelAnswer, len(requests))
	for n, r := range requests {
		before := m.asked[r.name]
		if r.caller != "" && before != nil && before.id == r.step.RequestID {
			answers[n] = *before
			continue
		}
		if m.over[r.step.RequestID] {
			answers[n].over = true
			continue
		}
		if r.caller != "" && before != nil {
			m.over[before.id] = true
		}
		answers[n].id = r.step.RequestID
		for _, o := range r.step.Ops {
			answers[n].outcomes = append(answers[n].outcomes, c.op(&r.step.Caller, o))
		}
	}
	c.settle()
	for _, i := range c.due(item.Leased) {
		c.fail(i, 0, c.back)
	}
	c.settle()
	for _, state := range []item.State{item.Delayed, item.Suspended, item.Stored} {
		for _, i := range c.due(state) {
			c.tail(i)
		}
	}
	c.settle()
	for n, r := range requests {
		if len(answers[n].leased) > 0 { // given before: those that the worker still has
			answers[n].leased = slices.DeleteFunc(slices.Clone(answers[n].leased), func(l modelLease) bool {
				i := m.items[l.id]
				return i == nil || i.State != item.Leased || i.Attempt != l.attempt || !r.step.Scope.Has(i.Warehouse)
			})
			continue
		}
		if answers[n].over || answers[n].final {
			continue
		}
		if !m.paused {
			answers[n].leased = c.lease(r.step, r.lease)
		}
		answers[n].final = len(answers[n].leased) > 0 || r.step.Max == 0 || r.step.Wait == 0
		if r.caller != "" {
			answer := answers[n]
			m.asked[r.name] = &answer
		}
	}
	return answers
}

// soonest is the earliest time that anything is due at, 0 = never.
func (m *model) soonest() int64 {
	first := int64(0)
	for i := range maps.Values(m.items) {
		if i.due > 0 && i.State != item.Dead && (first == 0 || i.due < first) {
			first = i.due
		}
	}
	return first
}
