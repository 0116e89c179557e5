package app

import (
	"context"

	"tallyman/engine"
	"tallyman/internal/api/metrics"
	"tallyman/internal/ledger"
	"tallyman/sinks/push"
)

// measure adds the gauges that are read when somebody scrapes, and has the deliveries of each sink counted from 0.
func (a *App) measure(meter *metrics.Metrics, counts *ruleCounts) error {
	for name := range a.cfg.Sinks {
		outcomes := []string{engine.OutcomeSent, engine.OutcomeRetried, engine.OutcomeRefused}
		if a.pushes[name] != nil {
			outcomes = append(outcomes, push.OutcomeTimedOut, push.OutcomeCanceled)
		}
		meter.KeepSink(name, outcomes)
	}
	if err := meter.Register(metrics.NewNode(a.measured)); err != nil {
		return err
	}
	return meter.Register(metrics.NewRules(meter, counts.states))
}

// measured is how the node stands.
func (a *App) measured(ctx context.Context) metrics.NodeState {
	state := metrics.NodeState{Ready: a.ready(ctx) == nil}
	pending, err := a.ledger.CountPending(ctx)
	if err != nil {
		return state // what is ready says why
	}
	state.Waiting = map[string]int64{}
	for name := range a.cfg.Sinks {
		state.Waiting[name] = pending[name]
	}
	return state
}

// states are the rules as the metrics have them. While the ledger does not answer they are what they were; nil = it never has.
func (c *ruleCounts) states(ctx context.Context) []metrics.RuleState {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freshen(ctx)
	if c.scopes == nil {
		return nil
	}
	list := make([]metrics.RuleState, len(c.units))
	for i := range c.units {
		list[i] = ruleState(&c.units[i])
	}
	return list
}

func ruleState(u *engine.RuleStatus) metrics.RuleState {
	s := metrics.RuleState{Rule: u.Rule.ID, State: "ok"}
	switch {
	case !u.Enabled:
		s.State = "disabled"
	case !u.Verified:
		s.State = "unverified"
	case u.LastRun != nil && u.LastRun.Outcome == ledger.OutcomeFailed:
		s.State = "failing"
	}
	if u.LastRun != nil {
		s.Pending, s.Firing = u.LastRun.Pending, u.LastRun.Firing
	}
	return s
}
