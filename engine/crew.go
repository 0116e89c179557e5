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

// crew is the rules of a node and the units that run the enabled rules. Its lock guards every field.
type crew struct {
	mu       sync.Mutex
	rules    []*rules.Rule // Enabled and disabled rules.
	complete bool          // The list has every rule that exists, see Options.Complete.
	version  string        // A hash of rules and complete.
	reach    *rules.Reach  // Computed at the first call of Engine.Reach. Nil before.
	switches []ledger.Switch
	units    map[string]*unit // The units of the enabled rules, keyed by ledger.ScopeKey.
	fresh    []*unit          // Units that have not been started yet.
	// Units that were stopped and had not ended when the crew last looked, keyed by ledger.ScopeKey.
	ending map[string]*unit
	live   bool // Run has begun.
	over   bool // The engine stops: no unit starts any more.
}

// all returns the rules. The caller must not change the list.
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

// status returns what the crew knows of every rule in every scope, without the ledger.
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

// arrange makes the set of units match the enabled rules. A unit whose rule means the same goes on untouched. Where a
// rule has changed, the old unit finishes its run before the new unit begins. filesChangedAt is when the rule files
// changed; zero means they have not changed, and only switches have. The caller holds the lock.
func (c *crew) arrange(newUnit func(*rules.Rule) (*unit, error), now, filesChangedAt time.Time) error {
	if c.over {
		return nil
	}
	if !c.live { // No unit has been started.
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
		u.takeOver(before, board.free(r), filesChangedAt)
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

// end stops a unit. If the unit still runs, end puts the unit into ending. If the unit has ended at once, end does not
// touch ending, which may hold an older unit of the same rule and scope.
func (c *crew) end(u *unit) {
	if u.e.timetable.end(u); !u.hasEnded() {
		c.ending[ledger.ScopeKey(u.rule.ID, u.rule.Scope)] = u
	}
}

// removing returns the units of removed rules that have not ended yet.
func (c *crew) removing(known map[string]bool) (list []*unit) {
	for id, u := range c.ending {
		if !known[id] && !u.hasEnded() {
			list = append(list, u)
		}
	}
	return list
}

// versionOf returns a hash of what the rules mean and of complete.
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

// mostNap is the longest sleep of the supervisor. The clock may be set and the machine may be suspended meanwhile, so
// the supervisor looks again.
const mostNap = time.Minute

// supervise starts new units, carries out orders, and rearranges the crew when a switch ends. When stop is closed it
// stops all units.
func (e *Engine) supervise(ctx context.Context, stop <-chan struct{}, runs *sync.WaitGroup) {
	defer close(e.closed)
	e.crew.mu.Lock()
	e.crew.live = true
	e.crew.mu.Unlock()
	e.timetable.open(ctx, runs)
	runs.Go(func() { e.timetable.run(stop, func() { e.opts.Turned("timetable") }) })
	for {
		e.opts.Turned("supervisor")
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

// takeFresh returns the units that must be started, and clears their list.
func (c *crew) takeFresh() []*unit {
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := c.fresh
	c.fresh = nil
	return fresh
}

// stop stops all units. No unit starts afterwards.
func (c *crew) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for _, u := range c.units {
		c.end(u)
	}
	c.fresh = nil
}

// nap returns the time until the next switch ends by itself, and mostNap at most.
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

// rearrange makes the set of units match the enabled rules, after an operator has set a switch or a switch has ended.
func (e *Engine) rearrange() {
	e.crew.mu.Lock()
	err := e.crew.arrange(e.makeUnit, e.opts.Clock.Now(), time.Time{})
	e.crew.mu.Unlock()
	if err != nil { // Not expected: VersionOf has made a unit of each rule before.
		e.log.Error("Enabled rules could not be started. They stay as they were before the switch.", "error", err)
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

// Replace replaces the node's rules; complete is as in Options. Replace returns at once. Rules that mean the same go on
// untouched. Rules that have changed finish their run first. New rules begin, and removed rules end. Where the rules do
// not fit the engine, Replace returns an error and changes nothing.
func (e *Engine) Replace(list []*rules.Rule, complete bool) error {
	version, err := e.VersionOf(list, complete)
	if err != nil {
		return err
	}
	now := e.opts.Clock.Now()
	e.crew.mu.Lock()
	defer e.crew.mu.Unlock()
	filesChangedAt := now
	if !e.crew.live { // The node starts: catch_up of each rule decides about missed firings.
		filesChangedAt = time.Time{}
	}
	before := e.crew.rules
	e.crew.rules = list
	if err := e.crew.arrange(e.makeUnit, now, filesChangedAt); err != nil {
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

// VersionOf returns the version that the node would have after Replace. The error is why the rules do not fit the
// engine.
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
		// Disabled rules are checked as well, because a switch may enable them.
		if _, err := e.makeUnit(r); err != nil {
			return "", err
		}
	}
	return versionOf(list, complete), nil
}

// listedUnit identifies the check of a rule whose scopes a query lists. All those scopes share the rule's text, so one
// check per schedule is enough.
type listedUnit struct {
	rule     string
	schedule rules.Schedule
}

// Version returns a hash of the rules that the node runs. Nodes with the same version have the same rules.
func (e *Engine) Version() string {
	e.crew.mu.Lock()
	defer e.crew.mu.Unlock()
	return e.crew.version
}
