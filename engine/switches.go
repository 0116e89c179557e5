package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
)

// switchBoard is the state of all switches at one time.
type switchBoard struct {
	now  time.Time
	by   map[string]*ledger.Switch // The switches in force, keyed by ledger.ScopeKey.
	last map[string]time.Time      // When each switch was last changed or ended, keyed by ledger.ScopeKey.
}

func newBoard(list []ledger.Switch, now time.Time) switchBoard {
	b := switchBoard{now: now, by: map[string]*ledger.Switch{}, last: map[string]time.Time{}}
	for i := range list {
		s := &list[i]
		id := ledger.ScopeKey(s.Rule, s.Scope)
		b.last[id] = s.Free(now)
		if s.InForce(now) {
			b.by[id] = s
		}
	}
	return b
}

// of returns the keys of the switches that a rule in a scope obeys, the strongest first.
func (b *switchBoard) of(r *rules.Rule) []string {
	return []string{ledger.ScopeKey(ledger.Every, ledger.Every), ledger.ScopeKey(r.ID, r.Scope), ledger.ScopeKey(r.ID, ledger.Every)}
}

// enabled tells whether the rule runs, and which switch decides. Nil means the rule's file decides.
func (b *switchBoard) enabled(r *rules.Rule) (bool, *ledger.Switch) {
	for _, id := range b.of(r) {
		if s := b.by[id]; s != nil {
			switched := *s
			return s.State == ledger.SwitchOn, &switched
		}
	}
	return r.Enabled, nil
}

// free returns when a switch of the rule was last changed or ended. Zero means never.
func (b *switchBoard) free(r *rules.Rule) (at time.Time) {
	for _, id := range b.of(r) {
		if b.last[id].After(at) {
			at = b.last[id]
		}
	}
	return at
}

// ReadSwitches reads the switches from the ledger and puts them in force at once. A disabled rule starts no firing any
// more. A run that has begun goes on to its commit.
func (e *Engine) ReadSwitches(ctx context.Context) error {
	e.reading.Lock() // Otherwise an older read could come into force after a newer one.
	defer e.reading.Unlock()
	list, err := e.opts.Ledger.Switches(ctx)
	if err != nil {
		return fmt.Errorf("engine: reading the switches: %w", err)
	}
	e.crew.mu.Lock()
	e.crew.switches = list
	e.crew.mu.Unlock()
	e.rearrange()
	return nil
}

// ErrUntilPast says that a switch's end is not after now.
var ErrUntilPast = errors.New("the switch would have ended already")

// Turn switches a rule on or off, or clears its switch. Turn does so in one scope, or for the whole rule where scope is
// nil. A scope's own switch wins over the whole rule's. When Turn returns, the switch is in force on this node. The
// switch of a removed rule can still be cleared. Errors are *UnknownError, ErrUntilPast, and the ledger's.
func (e *Engine) Turn(ctx context.Context, who ledger.Author, rule string, scope *string, s ledger.Switch) ([]RuleStatus, error) {
	_, err := e.find(rule, scope)
	if err != nil && (s.State != ledger.SwitchCleared || !e.switched(rule, scope)) {
		return nil, err
	}
	s.Rule, s.Scope = rule, ledger.Every
	if scope != nil {
		s.Scope = *scope
	}
	if err := e.turn(ctx, who, s); err != nil {
		return nil, err
	}
	return e.Scopes(ctx, rule)
}

// Pause sets or clears the switch for all rules. While this switch is off, no rule starts a firing, whatever the other
// switches say.
func (e *Engine) Pause(ctx context.Context, who ledger.Author, s ledger.Switch) error {
	s.Rule, s.Scope = ledger.Every, ledger.Every
	return e.turn(ctx, who, s)
}

func (e *Engine) turn(ctx context.Context, who ledger.Author, s ledger.Switch) error {
	s.At = e.opts.Clock.Now().UTC().Truncate(time.Microsecond)
	if !s.Until.IsZero() && !s.Until.After(s.At) {
		return fmt.Errorf("%w: it is %s", ErrUntilPast, s.At.Format(time.RFC3339))
	}
	if err := e.opts.Ledger.SetSwitch(ctx, who, s); err != nil {
		return err
	}
	return e.ReadSwitches(ctx)
}

// switched tells whether a switch of that rule and scope is in force.
func (e *Engine) switched(rule string, scope *string) bool {
	for _, s := range e.Switches() {
		if s.Rule == rule && (scope == nil && s.Scope == ledger.Every || scope != nil && s.Scope == *scope) {
			return true
		}
	}
	return false
}

// Switches returns the switches that are in force.
func (e *Engine) Switches() []ledger.Switch {
	now := e.opts.Clock.Now()
	e.crew.mu.Lock()
	defer e.crew.mu.Unlock()
	var list []ledger.Switch
	for i := range e.crew.switches {
		if s := &e.crew.switches[i]; s.InForce(now) {
			list = append(list, *s)
		}
	}
	return list
}

// Scopes returns the status of a rule in every scope. The list is empty where the rule does not exist any more.
func (e *Engine) Scopes(ctx context.Context, rule string) ([]RuleStatus, error) {
	all, err := e.Status(ctx)
	if err != nil {
		return nil, err
	}
	var list []RuleStatus
	for i := range all {
		if all[i].Rule.ID == rule {
			list = append(list, all[i])
		}
	}
	return list, nil
}

// paused tells whether all rules are paused.
func (e *Engine) paused() bool {
	for _, s := range e.Switches() {
		if s.Rule == ledger.Every && s.State == ledger.SwitchOff {
			return true
		}
	}
	return false
}
