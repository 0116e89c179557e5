package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"tallyman/engine"
	"tallyman/internal/api/metrics"
	"tallyman/internal/api/view"
	"tallyman/internal/ledger"
	"tallyman/internal/trace/otlp"
	"tallyman/internal/wire"
	"tallyman/sinks/push"
)

// measure registers the gauges that are computed at each scrape. measure also starts the delivery counters of each sink
// at 0.
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

// measured returns the state of the node for the gauges. If the ledger does not answer a question, measured leaves out
// that value and all later values.
func (a *App) measured(ctx context.Context) metrics.NodeState {
	state := metrics.NodeState{Ready: a.ready(ctx) == nil, Blocked: a.commits.Blocked() != nil, Unpruned: a.engine.Unpruned() != nil}
	if restored := a.restored.Load(); restored != 0 {
		state.Restored = time.UnixMicro(restored)
	}
	if a.clock != nil {
		clock := a.clock.state()
		state.Clock = &metrics.Clock{Term: clock.Number, Unconfirmed: clock.Withheld}
	}
	pending, err := a.ledger.CountPending(ctx)
	if err != nil {
		return state // state.Ready shows that the ledger is out of reach.
	}
	state.Waiting = map[string]int64{}
	for name := range a.cfg.Sinks {
		state.Waiting[name] = pending[name]
	}
	if state.Withheld, err = a.withheld(ctx); err != nil {
		return state
	}
	if state.Lists, err = a.measuredLists(ctx); err != nil {
		return state
	}
	oldest, err := a.ledger.OldestPending(ctx)
	if err != nil {
		return state
	}
	now := a.opts.Clock.Now()
	state.Oldest = map[string]time.Duration{}
	for name := range a.cfg.Sinks {
		if since, waits := oldest[name]; waits {
			state.Oldest[name] = max(now.Sub(since), 0)
		} else {
			state.Oldest[name] = 0
		}
	}
	return state
}

// states returns the metrics' view of the rules. While the ledger does not answer, states returns the last known view.
// Nil means the ledger has never answered.
func (c *ruleCounts) states(ctx context.Context) []metrics.RuleState {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freshen(ctx)
	if c.scopes == nil {
		return nil
	}
	return c.rules
}

func ruleState(u *engine.RuleStatus) metrics.RuleState {
	s := metrics.RuleState{Rule: u.Rule.ID, State: "ok"}
	if health := view.HealthOf(u); health != "waiting" {
		s.State = health
	}
	s.Overdue, s.Late = u.Overdue, u.Late
	if u.LastRun != nil {
		s.Failed, s.Degraded = u.Enabled && u.LastRun.Outcome == ledger.OutcomeFailed, u.Enabled && u.LastRun.Outcome == ledger.OutcomeDegraded
		s.Pending, s.Firing = u.LastRun.Pending, u.LastRun.Firing
	}
	return s
}

// countEvery is the largest age of the counts. They are cached because every inbox widget asks for them.
const countEvery = 10 * time.Second

// ruleCounts caches the states of the rules, and their counts by scope.
type ruleCounts struct {
	read func(context.Context) ([]engine.RuleStatus, error)
	log  *slog.Logger

	mu     sync.Mutex
	at     time.Time // When the ledger was last read.
	scopes map[string]wire.RuleCount
	rules  []metrics.RuleState // Replaced as a whole, never changed in place.
}

// of counts the rules whose scope is the warehouse, and the rules without a scope. While the ledger does not answer, of
// returns the last known counts.
func (c *ruleCounts) of(ctx context.Context, warehouse string) wire.RuleCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freshen(ctx)
	own, all := c.scopes[warehouse], c.scopes[""]
	return wire.RuleCount{OK: own.OK + all.OK, Failing: own.Failing + all.Failing}
}

// freshen counts again if the counts are older than countEvery. The caller holds the lock.
func (c *ruleCounts) freshen(ctx context.Context) {
	if time.Since(c.at) > countEvery {
		c.refresh(ctx)
	}
}

// refresh counts again. Concurrent callers wait for it, for pingTimeout at most. The caller holds the lock.
func (c *ruleCounts) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	units, err := c.read(ctx)
	c.at = time.Now() // Set after an error as well, so that not every caller waits for a ledger that is out of reach.
	if err != nil {
		c.log.Warn("The states of the rules were not read. Metrics and inboxes show the last known ones.", "error", err)
		return
	}
	scopes, states := map[string]wire.RuleCount{}, make([]metrics.RuleState, len(units))
	for i := range units {
		states[i] = ruleState(&units[i])
		u := &units[i]
		n := scopes[u.Rule.Scope]
		switch {
		case !u.Enabled:
		case !u.Verified, u.Late, u.LastRun != nil && u.LastRun.Outcome == ledger.OutcomeFailed:
			n.Failing++
		default:
			n.OK++
		}
		scopes[u.Rule.Scope] = n
	}
	c.scopes, c.rules = scopes, states
}

// openTraces makes the exporter of traces, if the configuration names a collector. Without a collector no span is made.
func (a *App) openTraces(ctx context.Context) error {
	t := a.cfg.Telemetry.Traces
	if t.Endpoint == "" {
		return nil
	}
	headers := make(map[string]string, len(t.Headers))
	for name, value := range t.Headers {
		headers[name] = value.Reveal()
	}
	exporter, err := otlp.Open(ctx, &otlp.Options{
		Endpoint: string(t.Endpoint), Headers: headers, Sample: float64(t.Sample), Version: a.opts.Version, Node: a.opts.Node, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.exporter, a.tracer = exporter, exporter.Tracer
	return nil
}
