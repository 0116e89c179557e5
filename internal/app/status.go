package app

import (
	"context"
	"maps"
	"slices"

	"tallyman/engine"
	"tallyman/internal/api"
	"tallyman/internal/ledger"
)

// status answers even where parts are out of reach: their health says so.
func (a *App) status(ctx context.Context) (api.StatusReport, error) {
	files := a.ruleFiles()
	r := api.StatusReport{
		Version: a.opts.Version, Node: a.opts.Node, Started: a.started.UTC(),
		Rules: []api.RuleStatus{}, Problems: files.Problems, Deliveries: []api.DeliveryCount{},
	}
	r.Health = append(r.Health, a.ledgerHealth.report("ledger", "", a.pingLedger(ctx)))
	r.Health = append(r.Health, a.indexHealth.report("redis", a.index.sink, a.index.inbox.Ready()))
	for _, name := range slices.Sorted(maps.Keys(a.index.queues)) {
		q := a.index.queues[name]
		r.Health = append(r.Health, q.health.report("redis", name, q.Ready()))
	}
	r.Health = append(r.Health, a.pushes.reports()...)
	for _, name := range slices.Sorted(maps.Keys(a.sources)) {
		s := a.sources[name]
		r.Health = append(r.Health, s.health.report("source", name, pingSource(ctx, s)))
	}
	r.Nodes = a.nodes(ctx)
	for _, s := range a.engine.Switches() {
		if s.Rule == ledger.Every {
			r.Paused = api.NewSwitchForm(&s)
		}
	}
	if a.tls != nil {
		r.Health = append(r.Health, a.tlsHealth.report("tls", "", a.tls.Pair.Check()))
	}
	units, err := a.engine.Status(ctx)
	if err != nil {
		a.log.Warn("last runs not read", "error", err)
	}
	for _, u := range units {
		one := ruleStatus(u)
		one.Stale = files.Stale[one.ID]
		r.Rules = append(r.Rules, one)
	}
	if counts, err := a.ledger.CountDeliveries(ctx); err != nil {
		a.log.Warn("deliveries not counted", "error", err)
	} else {
		r.Deliveries = deliveryCounts(counts)
	}
	return r, nil
}

// ruleFiles is what the node knows of its rule files.
func (a *App) ruleFiles() api.RuleFiles {
	set, _, stale := a.book.get()
	return api.RuleFiles{Problems: fileProblems(set), Stale: stale, Version: a.engine.Version()}
}

// nodes are those that the ledger has heard of; none where it is out of reach.
func (a *App) nodes(ctx context.Context) (list []api.NodeStatus) {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	nodes, err := a.ledger.Nodes(ctx)
	if err != nil {
		a.log.Warn("nodes not read", "error", err)
	}
	here := a.engine.Version()
	for _, n := range nodes {
		if n.Name == a.opts.Node { // the ledger has yet to hear what it has read just now
			n.Version, n.Rules = a.opts.Version, here
		}
		list = append(list, api.NodeStatus{
			Name: n.Name, Version: n.Version, Rules: n.Rules, Started: n.Started.UTC(), Seen: n.Seen.UTC(),
			Differs: n.Version != a.opts.Version || n.Rules != here,
		})
	}
	return list
}

func pingSource(ctx context.Context, s *source) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return s.Ping(ctx)
}

func ruleStatus(u engine.RuleStatus) api.RuleStatus {
	s := api.RuleStatus{
		ID: u.Rule.ID, Scope: u.Rule.Scope, Title: u.Rule.Title, Source: u.Rule.Source, File: u.Rule.File,
		Enabled: u.Enabled, Switch: api.NewSwitchForm(u.Switch), Verified: u.Verified, Reason: u.Reason,
	}
	s.Warnings, s.Shadow = u.Warnings, u.Rule.Shadow
	s.Recent = api.NewRecent(u.Judged)
	if !u.Promoted.IsZero() {
		promoted := u.Promoted.UTC()
		s.Promoted = &promoted
	}
	if !u.NextDue.IsZero() {
		next := u.NextDue.UTC()
		s.NextDue = &next
	}
	if u.LastRun != nil {
		s.LastRun = api.NewRunStatus(u.LastRun)
		s.Pending, s.Firing = u.LastRun.Pending, u.LastRun.Firing
	}
	return s
}

func deliveryCounts(counts map[string]map[ledger.DeliveryState]int64) []api.DeliveryCount {
	list := []api.DeliveryCount{}
	for _, sink := range slices.Sorted(maps.Keys(counts)) {
		for _, state := range slices.Sorted(maps.Keys(counts[sink])) {
			list = append(list, api.DeliveryCount{Sink: sink, State: state.String(), Count: counts[sink][state]})
		}
	}
	return list
}
