package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
)

// crew is the rules of a node and the units that run the enabled ones.
type crew struct {
	mu       sync.Mutex
	rules    []*rules.Rule // the enabled and the others
	complete bool          // they are all that there are
	version  string        // a hash of them
	reach    *rules.Reach  // nil = nobody has asked since they came into force
	switches []ledger.Switch
	units    map[string]*unit // of the enabled rules, by ledger.ScopeKey
	fresh    []*unit          // not started yet
	ending   map[string]*unit // those that were told to end and have not ended yet, as far as the crew has looked, by ledger.ScopeKey
	live     bool             // Run has begun
	over     bool             // nothing starts any more
}

// all returns the rules. Nobody changes the list.
func (c *crew) all() []*rules.Rule {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rules
}

// unit returns the unit of an enabled rule in a scope, or nil.
func (c *crew) unit(rule, scope string) *unit {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.units[ledger.ScopeKey(rule, scope)]
}

// status is what the crew knows of every rule in every scope.
func (c *crew) status(now time.Time) []RuleStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	board := newBoard(c.switches, now)
	list := make([]RuleStatus, len(c.rules))
	for i, r := range c.rules {
		list[i] = RuleStatus{Rule: r}
		list[i].Enabled, list[i].Switch = board.enabled(r)
		if list[i].Enabled {
			list[i].Reason = r.Placeholder.WhyNot()
		}
		if u := c.units[ledger.ScopeKey(r.ID, r.Scope)]; u != nil {
			u.status.fill(&list[i])
			list[i].Runs, list[i].lateness = u.rule, u.lateness()
		}
	}
	return list
}

// arrange makes the units be those of the enabled rules. A unit whose rule means the same goes on untouched; one whose
// rule has changed finishes its run before the new one begins. since is when rules have begun to run that did not by
// their file; zero where the files have not changed.
func (c *crew) arrange(newUnit func(*rules.Rule) (*unit, error), now, since time.Time) error {
	if c.over {
		return nil
	}
	if !c.live { // nothing has been started
		c.units, c.fresh = nil, nil
	}
	maps.DeleteFunc(c.ending, func(_ string, u *unit) bool { return u.hasEnded() })
	board := newBoard(c.switches, now)
	wanted := map[string]*unit{}
	var fresh []*unit
	for _, r := range c.rules {
		if on, _ := board.enabled(r); !on || r.Placeholder != "" {
			continue
		}
		id := ledger.ScopeKey(r.ID, r.Scope)
		before := c.units[id]
		if before != nil && before.means(r) {
			wanted[id] = before
			continue
		}
		u, err := newUnit(r)
		if err != nil {
			return err
		}
		u.takeOver(before, board.free(r), since)
		wanted[id] = u
		fresh = append(fresh, u)
	}
	for id, u := range c.units {
		if wanted[id] != u {
			c.end(u)
		}
	}
	for _, u := range fresh {
		u.predecessor = c.ending[ledger.ScopeKey(u.rule.ID, u.rule.Scope)]
	}
	c.units = wanted
	c.fresh = append(slices.DeleteFunc(c.fresh, (*unit).hasEnded), fresh...)
	return nil
}

// end tells a unit to end. Where it has ended by that, the one before it may still be ending.
func (c *crew) end(u *unit) {
	if u.e.timetable.end(u); !u.hasEnded() {
		c.ending[ledger.ScopeKey(u.rule.ID, u.rule.Scope)] = u
	}
}

// removing are the units that have not ended of rules that are there no more.
func (c *crew) removing(known map[string]bool) (list []*unit) {
	for id, u := range c.ending {
		if !known[id] && !u.hasEnded() {
			list = append(list, u)
		}
	}
	return list
}

// versionOf is a hash of what the rules mean, and of whether they are all.
func versionOf(list []*rules.Rule, complete bool) string {
	lines := []string{strconv.FormatBool(complete)}
	for _, r := range list {
		lines = append(lines, ledger.ScopeKey(r.ID, r.Scope)+"\x00"+r.Checksum)
	}
	slices.Sort(lines)
	sum := sha256.New()
	for _, line := range lines {
		sum.Write([]byte(line + "\n"))
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// mostNap is how long the supervisor sleeps at most: clocks are set, and machines sleep.
const mostNap = time.Minute

// supervise starts the units that the crew gets, carries out orders, and looks again when a switch ends. When stop is
// closed it tells all units to end.
func (e *Engine) supervise(ctx context.Context, stop <-chan struct{}, runs *sync.WaitGroup) {
	defer close(e.closed)
	e.crew.mu.Lock()
	e.crew.live = true
	e.crew.mu.Unlock()
	e.timetable.open(ctx, runs)
	runs.Go(func() { e.timetable.run(stop) })
	for {
		for _, u := range e.crew.takeFresh() {
			e.timetable.start(u)
		}
		nap := time.NewTimer(e.nap())
		select {
		case <-stop:
			nap.Stop()
			e.crew.stop()
			return
		case <-e.changed:
		case o := <-e.orders:
			runs.Go(func() { o.carryOut(ctx, stop) })
		case <-nap.C:
			e.rearrange()
		}
		nap.Stop()
	}
}

// takeFresh returns the units that have to be started.
func (c *crew) takeFresh() []*unit {
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := c.fresh
	c.fresh = nil
	return fresh
}

// stop tells all units to end.
func (c *crew) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for _, u := range c.units {
		c.end(u)
	}
	c.fresh = nil
}

// nap is how long it is until a switch ends by itself.
func (e *Engine) nap() time.Duration {
	now := e.opts.Clock.Now()
	e.crew.mu.Lock()
	defer e.crew.mu.Unlock()
	next := mostNap
	for i := range e.crew.switches {
		if s := &e.crew.switches[i]; s.InForce(now) && !s.Until.IsZero() {
			next = min(next, max(e.opts.Clock.Real(s.Until.Sub(now)), time.Millisecond))
		}
	}
	return next
}

// rearrange makes the units be those of the enabled rules, after a switch was thrown or has ended.
func (e *Engine) rearrange() {
	e.crew.mu.Lock()
	err := e.crew.arrange(e.makeUnit, e.opts.Clock.Now(), time.Time{})
	e.crew.mu.Unlock()
	if err != nil { // Replace has made a unit of each rule once
		e.log.Error("the rules that are enabled now could not be started", "error", err)
	}
	signal(e.changed)
}

func (e *Engine) makeUnit(r *rules.Rule) (*unit, error) { return newUnit(e, r) }

// signal sends to the channel, or does nothing where the channel already holds a signal.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Replace makes these the node's rules; complete is as in Options. It returns at once: rules that mean the same go on
// untouched, those that have changed finish their run first, new ones begin, and those that are gone end. Where the
// rules do not fit the engine nothing changes.
func (e *Engine) Replace(list []*rules.Rule, complete bool) error {
	version, err := e.VersionOf(list, complete)
	if err != nil {
		return err
	}
	now := e.opts.Clock.Now()
	e.crew.mu.Lock()
	defer e.crew.mu.Unlock()
	since := now
	if !e.crew.live { // what was missed before the node started is made good as the rules say
		since = time.Time{}
	}
	before := e.crew.rules
	e.crew.rules = list
	if err := e.crew.arrange(e.makeUnit, now, since); err != nil {
		e.crew.rules = before
		return err
	}
	e.crew.complete, e.crew.version, e.crew.reach = complete, version, nil
	e.kins.keep(list)
	e.scanGroups.keep(list, e.crew.units)
	signal(e.changed)
	signal(e.removed)
	return nil
}

// VersionOf is the version that Replace would make the node's. The error is why the rules do not fit the engine.
func (e *Engine) VersionOf(list []*rules.Rule, complete bool) (string, error) {
	if err := e.opts.validateRules(list); err != nil {
		return "", err
	}
	made := map[listedUnit]bool{}
	for _, r := range list {
		like := listedUnit{r.ID, r.Schedule}
		if r.Placeholder != "" || made[like] {
			continue
		}
		made[like] = r.Scopes != nil
		if _, err := e.makeUnit(r); err != nil { // the disabled ones too: they may be switched on
			return "", err
		}
	}
	return versionOf(list, complete), nil
}

// listedUnit is what a unit of a scope is made of that a query lists, besides its parameters: a rule has the same text
// in all of them.
type listedUnit struct {
	rule     string
	schedule rules.Schedule
}

// Version is a hash of the rules that the node runs: nodes with the same one have the same rules.
func (e *Engine) Version() string {
	e.crew.mu.Lock()
	defer e.crew.mu.Unlock()
	return e.crew.version
}
