package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tallyman/engine"
	"tallyman/internal/api/overview"
	"tallyman/internal/api/view"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// status returns a report even where parts are out of reach. Their health says so.
func (a *App) status(ctx context.Context) (wire.StatusReport, error) {
	files := a.ruleFiles()
	r := wire.StatusReport{
		Version: a.opts.Version, Node: a.opts.Node, Started: a.started.UTC(),
		Rules: []wire.RuleStatus{}, Problems: files.Problems, Deliveries: []wire.DeliveryCount{},
	}
	node := a.node(ctx)
	r.Health, r.Nodes = node.Health, node.Nodes
	for _, s := range a.engine.Switches() {
		if s.Rule == ledger.Every {
			r.Paused = view.NewSwitchForm(&s)
		}
	}
	if a.clock != nil {
		state := a.clock.state()
		r.Clock = view.NewClockForm(&state)
		r.Clock.Now = a.clock.Now().UTC()
	}
	units, err := a.engine.Status(ctx)
	if err != nil {
		a.log.Warn("The last runs were not read from the ledger. The status shows only what this node knows.", "error", err)
	}
	for _, u := range units {
		one := ruleStatus(u)
		one.Stale = files.Stale[one.ID]
		r.Rules = append(r.Rules, one)
	}
	counts, err := view.CountPending(ctx, a.ledger, a.opts.Clock.Now())
	if err != nil {
		a.log.Warn("Deliveries were not counted. The status leaves the counts out.", "error", err)
	}
	r.Deliveries = deliveryCounts(counts.States)
	if r.Warnings, err = a.unserved(ctx); err != nil {
		a.log.Warn("Subscriptions were not read. The status leaves out warnings about them.", "error", err)
	}
	served := a.servedSinks()
	for _, name := range slices.Sorted(maps.Keys(served)) {
		r.Sinks = append(r.Sinks, view.NewSinkForm(name, served[name], &counts))
	}
	return r, nil
}

// ruleFiles returns what the node knows of its rule files.
func (a *App) ruleFiles() view.RuleFiles {
	set, _, stale := a.book.get()
	return view.RuleFiles{Problems: view.FileProblems(set.Problems), Since: a.book.wrongSince(), Stale: stale, Version: a.engine.Version()}
}

func ruleStatus(u engine.RuleStatus) wire.RuleStatus {
	s := wire.RuleStatus{
		ID: u.Rule.ID, Scope: u.Rule.Scope, Title: u.Rule.Title, Source: u.Rule.Source, File: u.Rule.File,
		Enabled: u.Enabled, Switch: view.NewSwitchForm(u.Switch), Verified: u.Verified, Reason: u.Reason,
	}
	s.Warnings, s.Shadow = u.Warnings, u.Rule.Shadow
	s.Recent = view.NewRecent(u.RunSum)
	s.Late, s.Overdue, s.Since = u.Late, view.Seconds(u.Overdue), wire.Moment(u.Since)
	if !u.Promoted.IsZero() {
		promoted := u.Promoted.UTC()
		s.Promoted = &promoted
	}
	if !u.NextDue.IsZero() {
		next := u.NextDue.UTC()
		s.NextDue = &next
	}
	if u.LastRun != nil {
		s.LastRun = view.NewRunStatus(u.LastRun)
		s.Pending, s.Firing = u.LastRun.Pending, u.LastRun.Firing
	}
	return s
}

func deliveryCounts(counts map[string]map[ledger.DeliveryState]int64) []wire.DeliveryCount {
	list := []wire.DeliveryCount{}
	for _, sink := range slices.Sorted(maps.Keys(counts)) {
		for _, state := range slices.Sorted(maps.Keys(counts[sink])) {
			list = append(list, wire.DeliveryCount{Sink: sink, State: state.String(), Count: counts[sink][state]})
		}
	}
	return list
}

// node reports the health of the node and of the parts that it reaches. node asks all parts at once, so that a part
// that hangs does not delay the others.
func (a *App) node(ctx context.Context) overview.NodeReport {
	r := overview.NodeReport{Node: a.opts.Node, Version: a.opts.Version}
	names := slices.Sorted(maps.Keys(a.sources))
	reached := make([]error, len(names))
	var ledger error
	var withheld, origins []wire.Health
	var asked sync.WaitGroup
	asked.Go(func() { ledger = a.pingLedger(ctx) })
	asked.Go(func() { r.Nodes = a.nodes(ctx) })
	asked.Go(func() { withheld = a.withheldHealth(ctx) })
	asked.Go(func() { origins = a.originHealth(ctx) })
	for i, name := range names {
		asked.Go(func() { reached[i] = pingSource(ctx, a.sources[name]) })
	}
	asked.Wait()
	r.Health = append(r.Health, a.ledgerHealth.report("ledger", "", ledger))
	r.Health = append(r.Health, a.commitHealth.report("commits", "", a.commits.Fault()))
	r.Health = append(r.Health, a.indexHealth.report("redis", a.index.sink, a.takes(a.index.sink, a.index.inbox.Ready)()))
	for _, name := range slices.Sorted(maps.Keys(a.index.queues)) {
		q := a.index.queues[name]
		r.Health = append(r.Health, q.health.report("redis", name, a.takes(name, q.Ready)()))
	}
	r.Health = append(r.Health, a.pushes.reports()...)
	for i, name := range names {
		r.Health = append(r.Health, a.sources[name].health.report("source", name, reached[i]))
	}
	if h := a.drainHealth.report("drain", "", a.drain.fault()); !h.OK {
		r.Health = append(r.Health, h)
	}
	if h := a.clockHealth.report("clock", "", a.clockFault()); !h.OK {
		r.Health = append(r.Health, h)
	}
	if h := a.retentionHealth.report("retention", "", a.retentionFault()); !h.OK {
		r.Health = append(r.Health, h)
	}
	_, fault := a.book.taken()
	if h := a.rulesHealth.report("rules", "", fault); fault != nil {
		r.Health = append(r.Health, h)
	}
	r.Health = append(r.Health, withheld...)
	r.Health = append(r.Health, origins...)
	if h, shown := a.restoreHealth(); shown {
		r.Health = append(r.Health, h)
	}
	if a.tls != nil {
		r.Health = append(r.Health, a.tlsHealth.report("tls", "", a.tls.Pair.Check()))
	}
	return r
}

// nodes returns the live nodes, with the lanes that each holds. nodes returns none where the ledger is out of reach.
func (a *App) nodes(ctx context.Context) (list []wire.NodeStatus) {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	nodes, err := a.ledger.Nodes(ctx)
	if err != nil {
		a.log.Warn("The live nodes were not read from the ledger.", "error", err)
	}
	lanes, err := a.ledger.HeldLanes(ctx)
	if err != nil {
		a.log.Warn("The leased lanes were not read from the ledger.", "error", err)
	}
	own, _ := a.session.Own()
	here := a.engine.Version()
	for _, n := range nodes {
		if n.Session == own { // The ledger may not have this node's newest rules yet.
			n.Version, n.Rules = a.opts.Version, here
		}
		list = append(list, wire.NodeStatus{
			Name: n.Name, Version: n.Version, Rules: n.Rules, Started: n.Started.UTC(), Changed: n.Changed.UTC(), Seen: n.Seen.UTC(),
			Differs: n.Version != a.opts.Version || n.Rules != here, Lanes: heldBy(n.Session, lanes),
		})
	}
	return list
}

// heldBy returns the lanes of the session. lanes must be sorted by sink and warehouse.
func heldBy(session string, lanes []ledger.HeldLane) []wire.HeldLanes {
	list := []wire.HeldLanes{}
	for _, lane := range lanes {
		if lane.Session != session {
			continue
		}
		if len(list) == 0 || list[len(list)-1].Sink != lane.Sink {
			list = append(list, wire.HeldLanes{Sink: lane.Sink, Warehouses: []string{}})
		}
		if sink := &list[len(list)-1]; lane.Warehouse != "" {
			sink.Warehouses = append(sink.Warehouses, lane.Warehouse)
		}
	}
	return list
}

func pingSource(ctx context.Context, s *sourceEntry) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return s.Ping(ctx)
}

// pingTimeout is the time limit for asking a part whether it is well, so that a part that hangs does not hide the
// others.
const pingTimeout = 2 * time.Second

// health remembers since when a part is well or not well.
type health struct {
	mu    sync.Mutex
	known bool
	ok    bool
	since time.Time
}

// report records the newest result. It returns the result, and since when the part has been in this state.
func (h *health) report(part, name string, err error) wire.Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ok := err == nil; !h.known || ok != h.ok {
		h.known, h.ok, h.since = true, ok, time.Now().UTC()
	}
	since := h.since
	r := wire.Health{Part: part, Name: name, OK: h.ok, Since: &since}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// codeRetentionFails is the code of an error of pruning.
const codeRetentionFails = "retention_fails"

// retentionFault returns why this node could not prune the ledger, or nil.
func (a *App) retentionFault() error {
	if err := a.engine.Unpruned(); err != nil {
		return fmt.Errorf("%s: the ledger was not pruned, so old rows stay; the node tries again in an hour: %w", codeRetentionFails, err)
	}
	return nil
}

func (a *App) pingLedger(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := a.ledger.Ping(ctx); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// ready returns why the node can run nothing or serve nothing, or nil. A fault of a part of its work (a source, a
// queue, a rule) is no reason: unwell reports such faults.
func (a *App) ready(ctx context.Context) error {
	errs := []error{a.drain.fault(), a.pingLedger(ctx), a.index.inbox.Ready()}
	if taken, fault := a.book.taken(); !taken && fault != nil {
		// No rule runs before the first record. After a later fault the last good rules run.
		errs = append(errs, fmt.Errorf("rules: %w", fault))
	}
	if fault := a.commits.Blocked(); fault != nil {
		errs = append(errs, fmt.Errorf("commits: %w", fault))
	}
	return errors.Join(errs...)
}
